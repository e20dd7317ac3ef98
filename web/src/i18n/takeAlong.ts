// Strings of the button that saves the microscope as one file.
export const en = {
  title: "Take this with you",
  what: "all views, lessons and models as one file; opens here, without a server or a network",
  making: "Saving …",
  saved: (size: string) => `saved as attnscope.html (${size})`,
};

export const zh: typeof en = {
  title: "随身带走",
  what: "全部视图、课程和模型存成一个文件；打开就是这里，无需服务器和网络",
  making: "正在保存……",
  saved: (size: string) => `已保存为 attnscope.html（${size}）`,
};
