// Strings of the head search.
export const en = {
  find: "Find",
  placeholder: "previous, causal & window(2) …",
  hint: "heads that look like a pattern: a name, a mask, or a picture",
  paint: "Paint",
  painting: "Paint where a head should look: rows are tokens that look. Arrows move, Space paints, Enter searches.",
  search: "Search",
  empty: "Empty",
  clear: "End the search",
  similarity: "similarity",
  bySimilarity: "by similarity",
  searching: "Searching",
  picture: "painted picture",
  order: (pattern: string) => `Nearest to ${pattern} first`,
};

export const zh: typeof en = {
  find: "查找",
  placeholder: "previous、causal & window(2) …",
  hint: "找出像某种模式的头：名称、掩码或画出的图",
  paint: "画图",
  painting: "画出头应当看向哪里：行是在看的词元。方向键移动，空格上色，回车查找。",
  search: "查找",
  empty: "清空",
  clear: "结束查找",
  similarity: "相似度",
  bySimilarity: "按相似度",
  searching: "正在查找",
  picture: "画出的图",
  order: (pattern) => `最接近 ${pattern} 的在前`,
};
