// What is packed: files with their paths in the file system of attnscope.wasm.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const kSmallModelFiles = ["config.json", "generation_config.json", "tokenizer_config.json", "special_tokens_map.json"];
const kLargeModelFiles = ["tokenizer.json", "model.safetensors"];
const kLessonFile = /^lesson\.json$|\.md$|^steps\.|\.csv$/; // as cmake/lessons.cmake embeds them

const folders = (parent, file) =>
  readdirSync(parent)
    .filter((name) => existsSync(join(parent, name, file)))
    .sort();

const read = (parent, folder, names, root) =>
  names
    .filter((name) => existsSync(join(parent, folder, name)))
    .map((name) => ({ path: `${root}/${folder}/${name}`, bytes: readFileSync(join(parent, folder, name)) }));

// [{ name, small: files, large: files }]. `only`: names; undefined: all.
export function readModels(parent, only) {
  const names = folders(parent, "config.json").filter((name) => !only || only.includes(name));
  const unknown = only?.filter((name) => !names.includes(name)) ?? [];
  if (unknown.length || !names.length) throw new Error(`no model ${unknown.join(", ")} in ${parent}`);
  return names.map((name) => ({
    name,
    small: read(parent, name, kSmallModelFiles, "/models"),
    large: read(parent, name, kLargeModelFiles, "/models"),
  }));
}

export const readLessons = (parent) =>
  folders(parent, "lesson.json").flatMap((name) =>
    read(
      parent,
      name,
      readdirSync(join(parent, name))
        .filter((file) => kLessonFile.test(file))
        .sort(),
      "/lessons",
    ),
  );

export const readOffline = (file) => [{ path: "/page/offline.html", bytes: readFileSync(file) }];

export const listOf = (files) => files.map(({ path, bytes }) => ({ path, size: bytes.length }));

// uint32 n, n bytes of JSON (paths and sizes), then the files: src/api/transport/carried.ts reads it.
export function packFiles(files) {
  const list = Buffer.from(JSON.stringify(listOf(files)));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(list.length);
  return Buffer.concat([length, list, ...files.map(({ bytes }) => bytes)]);
}

export function gzip(bytes) {
  const packed = gzipSync(bytes, { level: 9 });
  packed[9] = 255; // the operating system: unknown, so that all of them write the same
  return packed;
}
