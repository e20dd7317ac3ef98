// Strings for files of one's own.
import type { OwnProblem } from "../input/ownFiles";

export const en = {
  open: "Open a file…",
  title: "Open a file of your own",
  what: [
    "a recording: .attn",
    "a table of weights: .npy, .csv, .json",
    "a model: its folder, or config.json, tokenizer.json and *.safetensors together",
  ],
  drop: "Choose it here, or drop it anywhere on the page.",
  stays: "Nothing leaves this machine.",
  dropHere: "Drop it to open it",
  files: "Choose files…",
  folder: "Choose a folder…",
  opening: (name: string) => `Opening ${name}`,
  reading: (name: string, done: string, all: string) => `Reading ${name}: ${done} of ${all}`,
  stop: "Stop",
  opened: (name: string) => `${name} is open`,
  problems: {
    nothing: () => "There is no file in that.",
    unknown: (name: string) =>
      `${name} is no recording (.attn), no table (.npy, .csv, .json) and no model (config.json, *.safetensors).`,
    several: () => "These are several things: open one recording, one table or one model at a time.",
    noConfig: () => "This model has no config.json: drop its whole folder, or all of its files together.",
    noTokenizer: () => "This model has no tokenizer.json: drop its whole folder, or all of its files together.",
    noWeights: () => "This model has no weights: drop its whole folder, or all of its files together.",
    otherWeights: () => "These weights are in a format that attnscope does not read: it reads *.safetensors.",
    tooLarge: (_name: string, bytes: string, most: string) =>
      `That is too large for a page: ${bytes}, and a browser has room for ${most}; the attnscope program opens it.`,
    failed: (name: string, why: string) => `${name} cannot be opened: ${why}`,
  } satisfies Record<OwnProblem, (name: string, a: string, b: string) => string>,
};

export const zh: typeof en = {
  open: "打开文件…",
  title: "打开自己的文件",
  what: [
    "一份记录：.attn",
    "一张权重表：.npy、.csv、.json",
    "一个模型：整个文件夹，或一起选中 config.json、tokenizer.json 和 *.safetensors",
  ],
  drop: "在这里选择，或拖到页面任何地方。",
  stays: "文件不会离开这台机器。",
  dropHere: "松开即可打开",
  files: "选择文件…",
  folder: "选择文件夹…",
  opening: (name) => `正在打开 ${name}`,
  reading: (name, done, all) => `正在读取 ${name}：${done} / ${all}`,
  stop: "停止",
  opened: (name) => `已打开 ${name}`,
  problems: {
    nothing: () => "里面没有文件。",
    unknown: (name) =>
      `${name} 既不是记录（.attn），也不是表格（.npy、.csv、.json）或模型（config.json、*.safetensors）。`,
    several: () => "这里有好几样东西：一次只能打开一份记录、一张表或一个模型。",
    noConfig: () => "这个模型缺少 config.json：请拖入整个文件夹，或同时选中它的所有文件。",
    noTokenizer: () => "这个模型缺少 tokenizer.json：请拖入整个文件夹，或同时选中它的所有文件。",
    noWeights: () => "这个模型缺少权重：请拖入整个文件夹，或同时选中它的所有文件。",
    otherWeights: () => "attnscope 读不了这种格式的权重：它读取 *.safetensors。",
    tooLarge: (_name, bytes, most) =>
      `对网页来说太大了：${bytes}，而浏览器最多容纳 ${most}；attnscope 程序可以打开它。`,
    failed: (name, why) => `无法打开 ${name}：${why}`,
  },
};
