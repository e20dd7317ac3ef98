// Variants of a text to compare it with.

const kOthers: [string, string][] = [
  ["great", "terrible"],
  ["good", "bad"],
  ["wonderful", "awful"],
  ["cat", "dog"],
  ["mat", "rug"],
  ["he", "she"],
  ["his", "her"],
  ["man", "woman"],
  ["king", "queen"],
  ["boy", "girl"],
  ["happy", "sad"],
  ["big", "small"],
  ["hot", "cold"],
  ["old", "young"],
  ["is", "was"],
  ["好", "坏"],
  ["猫", "狗"],
  ["他", "她"],
  ["大", "小"],
];

const capital = (word: string): boolean => word[0] !== word[0].toLowerCase();

// The same text with one word changed: by its known counterpart, else by swapWords().
export function changeOneWord(text: string): string {
  for (const pair of kOthers) {
    for (const [from, to] of [pair, [pair[1], pair[0]]]) {
      const word = /[a-z]/.test(from) ? new RegExp(`(?<!\\p{L})${from}(?!\\p{L})`, "iu") : new RegExp(from);
      const found = word.exec(text);
      if (!found) continue;
      const other = capital(found[0]) ? to[0].toUpperCase() + to.slice(1) : to;
      return text.slice(0, found.index) + other + text.slice(found.index + found[0].length);
    }
  }
  return swapWords(text);
}

// The same text with its two longest words swapped; with one word only, without its last letter.
export function swapWords(text: string): string {
  const words = [...text.matchAll(/\p{L}+/gu)].sort((a, b) => b[0].length - a[0].length || a.index - b.index);
  const second = words.find((word) => word[0] !== words[0][0]);
  if (!second) return [...text].slice(0, -1).join("");
  const [one, two] = [words[0], second].sort((a, b) => a.index - b.index);
  const between = text.slice(one.index + one[0].length, two.index);
  return text.slice(0, one.index) + two[0] + between + one[0] + text.slice(two.index + two[0].length);
}
