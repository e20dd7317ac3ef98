// Files of the user's, dropped or chosen: what they are, and what is missing.

export interface OwnFile {
  path: string; // below what was dropped: "my-model/config.json"
  file: File;
}

export type OwnProblem =
  "nothing" | "unknown" | "several" | "noConfig" | "noTokenizer" | "noWeights" | "otherWeights" | "tooLarge" | "failed";

// One thing that can be opened.
export interface OwnThing {
  kind: "model" | "data"; // data: a recording or a table
  name: string;
  files: { name: string; file: File }[]; // names without letters that mean something in a path or URL
  bytes: number;
}

const kData = /\.(attn|npy|csv|json)$/i;
const kWeights = /\.safetensors$/i;
const kOtherWeights = /\.(bin|pt|pth|gguf|ggml|onnx|h5|msgpack|ckpt)$/i;
const kTokenizers = ["tokenizer.json", "vocab.txt", "vocab.json"];
// Of a model's folder only what is read: others may be large.
const kModelFiles = new Set([
  ...["config.json", "generation_config.json", "special_tokens_map.json", "added_tokens.json", "merges.txt"],
  ...["tokenizer_config.json", "model.safetensors.index.json", ...kTokenizers],
]);
const kOnlyOfModels = new Set([...kModelFiles].filter((name) => name !== "vocab.txt"));

const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")));
const isHidden = (path: string): boolean => /(^|\/)(\.|__MACOSX\/)/.test(path);

// What was dropped, or why it cannot be opened. `mostBytes`: of weights.
export function thingOf(all: OwnFile[], mostBytes: number | null): OwnThing | OwnProblem {
  const files = all.filter(({ path }) => !isHidden(path));
  if (!files.length) return "nothing";
  const ofModel = files.filter(({ path }) => kOnlyOfModels.has(nameOf(path)) || kWeights.test(path));
  if (ofModel.length) return modelOf(files, ofModel, mostBytes);
  const data = files.filter(({ path }) => kData.test(path));
  if (!data.length) return files.some(({ path }) => kOtherWeights.test(path)) ? "otherWeights" : "unknown";
  if (data.length > 1) return "several";
  const [{ path, file }] = data;
  if (mostBytes !== null && file.size > mostBytes) return "tooLarge";
  const [extension] = kData.exec(path)!;
  return {
    kind: "data",
    name: nameOf(path),
    files: [{ name: `file${extension.toLowerCase()}`, file }],
    bytes: file.size,
  };
}

function modelOf(files: OwnFile[], ofModel: OwnFile[], mostBytes: number | null): OwnThing | OwnProblem {
  const folders = new Set(
    ofModel.filter(({ path }) => nameOf(path) === "config.json").map(({ path }) => folderOf(path)),
  );
  // The folders of a model may have others inside, such as those of other file formats.
  const top = [...folders].sort((a, b) => a.length - b.length);
  if (top.length === 0) return "noConfig";
  if (top.some((folder) => !isWithin(folder, top[0]))) return "several";
  if (files.some(({ path }) => folderOf(path) === top[0] && /\.(attn|npy)$/i.test(path))) return "several";
  const inside = files
    .filter(({ path }) => folderOf(path) === top[0] && (kModelFiles.has(nameOf(path)) || kWeights.test(path)))
    .map(({ path, file }) => ({ name: nameOf(path).replace(/[^\w.+-]/g, "_"), file }));
  const weights = inside.filter(({ name }) => kWeights.test(name));
  if (!weights.length) return files.some(({ path }) => kOtherWeights.test(path)) ? "otherWeights" : "noWeights";
  if (!inside.some(({ name }) => kTokenizers.includes(name))) return "noTokenizer";
  const bytes = weights.reduce((sum, { file }) => sum + file.size, 0);
  if (mostBytes !== null && bytes > mostBytes) return "tooLarge";
  return { kind: "model", name: nameOf(top[0]) || "model", files: inside, bytes };
}

const isWithin = (folder: string, parent: string): boolean =>
  folder === parent || parent === "" || folder.startsWith(`${parent}/`);

// ---- what the browser gives ----

export const isFileDrag = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;

// Of a file input; one that takes folders says where each file lies.
export const chosenFiles = (list: FileList): OwnFile[] =>
  [...list].map((file) => ({ path: file.webkitRelativePath || file.name, file }));

// Files and folders that were dropped. Entries must be had before the event is over; the rest may take its time.
export async function droppedFiles(data: DataTransfer): Promise<OwnFile[]> {
  const items = [...data.items].filter(({ kind }) => kind === "file");
  const roots = items.map((item) => ({ entry: item.webkitGetAsEntry?.() ?? null, file: item.getAsFile() }));
  const found = await Promise.all(
    roots.map(({ entry, file }) => {
      if (entry?.isDirectory) return filesBelow(entry as FileSystemDirectoryEntry);
      return file ? [{ path: file.name, file }] : [];
    }),
  );
  return found.flat();
}

const kMostFiles = 2000; // of a folder that is no model's

async function filesBelow(folder: FileSystemDirectoryEntry): Promise<OwnFile[]> {
  const found: OwnFile[] = [];
  const waiting = [folder];
  for (let next = waiting.pop(); next && found.length < kMostFiles; next = waiting.pop()) {
    const reader = next.createReader();
    for (;;) {
      // A reader gives a hundred entries at a time.
      const entries = await new Promise<FileSystemEntry[]>((done, failed) => reader.readEntries(done, failed));
      if (!entries.length) break;
      for (const entry of entries) {
        if (entry.isDirectory) waiting.push(entry as FileSystemDirectoryEntry);
        else {
          const file = await new Promise<File>((done, failed) => (entry as FileSystemFileEntry).file(done, failed));
          found.push({ path: entry.fullPath.slice(1), file });
        }
      }
    }
  }
  return found;
}
