// Why a page without a server cannot work here, or why a request of it has failed.
import { currentLanguage } from "../state/preferences";

export const en = {
  noWebAssembly:
    "This browser cannot run attnscope: it needs WebAssembly with SIMD and exceptions, which Chrome 95, " +
    "Firefox 100, Safari 16.4 and newer ones have.",
  noDecompression:
    "This browser cannot unpack attnscope: it needs DecompressionStream, which Chrome 80, Firefox 113, Safari 16.4 and " +
    "newer ones have.",
  noWorker: "This browser does not let the page start a Worker, in which attnscope computes.",
  noModule:
    "The attnscope module of this page cannot be started: the page is damaged, or the browser forbids WebAssembly.",
  notFetched: "A part of attnscope could not be loaded: check the network, then try again.",
  outOfMemory: "This takes more memory than the browser gives a page; a shorter text or a smaller model may fit.",
  crashed: "The computation crashed and was started anew; everything else on this page still works.",
};

export const zh: typeof en = {
  noWebAssembly:
    "这个浏览器无法运行 attnscope：需要支持 SIMD 和异常的 WebAssembly（Chrome 95、Firefox 100、Safari 16.4 或更新的版本）。",
  noDecompression:
    "这个浏览器无法解压 attnscope：需要 DecompressionStream（Chrome 80、Firefox 113、Safari 16.4 或更新的版本）。",
  noWorker: "这个浏览器不允许本页启动 Worker，而 attnscope 要在其中计算。",
  noModule: "本页的 attnscope 模块无法启动：页面已损坏，或浏览器禁用了 WebAssembly。",
  notFetched: "attnscope 的一部分没能加载：请检查网络后重试。",
  outOfMemory: "所需内存超出了浏览器给一个页面的上限；换短一些的文本或小一些的模型也许可以。",
  crashed: "计算崩溃后已重新启动；本页其余功能不受影响。",
};

export type Surroundings = keyof typeof en;

export const sentenceOf = (name: Surroundings): string => (currentLanguage() === "zh" ? zh : en)[name];
