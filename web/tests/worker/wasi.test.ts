import { describe, expect, test, vi } from "vitest";
import { FileTree, type SyncReaders, type VirtualFile } from "../../src/worker/files";
import { kErrno, ProgramExit, Wasi } from "../../src/worker/wasi";

const bytes = (text: string) => new TextEncoder().encode(text);
const file = (path: string, text: string): VirtualFile => ({
  path,
  size: bytes(text).length,
  content: bytes(text),
});

// A file system with a memory that calls write to: 1 page, of which tests use fixed places.
function wasiWith(files: VirtualFile[], readers?: SyncReaders, fetched?: (path: string) => void) {
  const tree = new FileTree(readers, fetched);
  files.forEach((one) => tree.add(one));
  const lines: string[] = [];
  const wasi = new Wasi(tree, (line) => lines.push(line));
  wasi.memory = new WebAssembly.Memory({ initial: 1 });
  const view = () => new DataView(wasi.memory!.buffer);
  const put = (at: number, text: string) => new Uint8Array(wasi.memory!.buffer, at).set(bytes(text));
  const text = (at: number, length: number) =>
    new TextDecoder().decode(new Uint8Array(wasi.memory!.buffer, at, length).slice());
  const open = (path: string, flags = 0): number => {
    put(0, path);
    const errno = wasi.path_open(3, 0, 0, path.length, flags, 0n, 0n, 0, 512);
    return errno === 0 ? view().getUint32(512, true) : -errno;
  };
  // One vector of `length` bytes at 1024.
  const read = (fd: number, length: number): string => {
    view().setUint32(520, 1024, true);
    view().setUint32(524, length, true);
    expect(wasi.fd_read(fd, 520, 1, 516)).toBe(0);
    return text(1024, view().getUint32(516, true));
  };
  return { wasi, view, put, text, open, read, lines };
}

const kFiles = [file("/models/a/config.json", "{}"), file("/models/a/vocab.txt", "hello world"), file("/b", "")];

describe("files", () => {
  test("are found by paths from the preopened folder, and read in order", () => {
    const { wasi, view, text, open, read } = wasiWith(kFiles);
    expect(wasi.fd_prestat_get(3, 0)).toBe(0);
    expect(view().getUint32(4, true)).toBe(1);
    expect(wasi.fd_prestat_dir_name(3, 8, 1)).toBe(0);
    expect(text(8, 1)).toBe("/");
    expect(wasi.fd_prestat_get(4, 0)).toBe(kErrno.badf);
    const fd = open("models/./a/../a/vocab.txt");
    expect(fd).toBe(4);
    expect(read(fd, 5)).toBe("hello");
    expect(read(fd, 100)).toBe(" world");
    expect(read(fd, 100)).toBe("");
    expect(wasi.fd_close(fd)).toBe(0);
    expect(wasi.fd_close(fd)).toBe(kErrno.badf);
    expect(open("b")).toBe(4); // the lowest that is free
  });

  test("that are not there, or would be written, are refused", () => {
    const { wasi, open } = wasiWith(kFiles);
    expect(open("models/c")).toBe(-kErrno.noent);
    expect(open("models/a/config.json/x")).toBe(-kErrno.noent);
    expect(open("new", 1)).toBe(-kErrno.rofs);
    expect(open("b", 8)).toBe(-kErrno.rofs);
    expect(open("b", 2)).toBe(-kErrno.notdir);
    expect(wasi.fd_write(open("b"), 0, 0, 0)).toBe(kErrno.rofs);
    expect(wasi.import("path_unlink_file")()).toBe(kErrno.rofs);
    expect(wasi.import("sock_send")()).toBe(kErrno.nosys);
    expect(wasi.import("fd_advise")()).toBe(kErrno.nosys);
  });

  test("have a size and a kind", () => {
    const { wasi, view, put, open } = wasiWith(kFiles);
    expect(wasi.fd_filestat_get(open("models/a/vocab.txt"), 64)).toBe(0);
    expect([view().getUint8(80), view().getBigUint64(96, true)]).toEqual([4, 11n]);
    put(0, "models");
    expect(wasi.path_filestat_get(3, 0, 0, 6, 64)).toBe(0);
    expect(view().getUint8(80)).toBe(3);
    expect(wasi.fd_fdstat_get(3, 64)).toBe(0);
    expect(view().getUint8(64)).toBe(3);
    expect(wasi.fd_fdstat_get(1, 64)).toBe(0);
    expect(view().getUint8(64)).toBe(2);
  });

  test("are sought and read at a place, over several vectors", () => {
    const { wasi, view, text, open, read } = wasiWith(kFiles);
    const fd = open("models/a/vocab.txt");
    expect(wasi.fd_seek(fd, -5n, 2, 64)).toBe(0);
    expect(view().getBigUint64(64, true)).toBe(6n);
    expect(read(fd, 2)).toBe("wo");
    expect(wasi.fd_tell(fd, 64)).toBe(0);
    expect(view().getBigUint64(64, true)).toBe(8n);
    expect(wasi.fd_seek(fd, -9n, 0, 64)).toBe(kErrno.inval);
    [1024, 3, 2048, 4].forEach((value, i) => view().setUint32(520 + 4 * i, value, true));
    expect(wasi.fd_pread(fd, 520, 2, 4n, 516)).toBe(0);
    expect([view().getUint32(516, true), text(1024, 3), text(2048, 4)]).toEqual([7, "o w", "orld"]);
    expect(read(fd, 9)).toBe("rld"); // where fd_seek and fd_read were
  });

  test("of a folder are listed, also into a small buffer", () => {
    const { wasi, view, text, open } = wasiWith(kFiles);
    const fd = open("models/a", 2);
    const names: string[] = [];
    for (let cookie = 0n; ;) {
      expect(wasi.fd_readdir(fd, 1024, 40, cookie, 516)).toBe(0);
      const used = view().getUint32(516, true);
      if (used < 24) break;
      const length = view().getUint32(1024 + 16, true);
      names.push(text(1024 + 24, length));
      expect(view().getUint8(1024 + 20)).toBe(4);
      cookie = view().getBigUint64(1024, true);
    }
    expect(names).toEqual(["config.json", "vocab.txt"]);
  });

  test("stay readable when the memory grows", () => {
    const { wasi, open, read } = wasiWith(kFiles);
    const fd = open("models/a/vocab.txt");
    expect(read(fd, 5)).toBe("hello");
    wasi.memory!.grow(1);
    expect(read(fd, 6)).toBe(" world");
  });
});

describe("contents", () => {
  test("of a Blob are read in pieces, and let go of when the file is closed", () => {
    const large = new Uint8Array(9 << 20).fill(120);
    large[(8 << 20) - 1] = 97;
    large[8 << 20] = 98;
    const asked: number[] = [];
    const content = { slice: (start: number, end: number) => ({ start, end }) };
    const readers = {
      blob: (part: Blob) => {
        const { start, end } = part as unknown as { start: number; end: number };
        asked.push(start);
        return large.slice(start, end);
      },
      url: () => new Uint8Array(),
    };
    const { wasi, view, open, read } = wasiWith(
      [{ path: "/large", size: large.length, content: content as unknown as Blob }],
      readers,
    );
    const fd = open("large");
    wasi.fd_seek(fd, BigInt((8 << 20) - 2), 0, 64);
    expect(view().getBigUint64(64, true)).toBe(BigInt((8 << 20) - 2));
    expect(read(fd, 4)).toBe("xabx"); // over the end of a piece
    expect(asked).toEqual([0, 8 << 20]);
    read(fd, 1000);
    expect(asked).toHaveLength(2);
    wasi.fd_close(fd);
    read(open("large"), 1);
    expect(asked).toEqual([0, 8 << 20, 0]);
  });

  test("of a URL are fetched once, when they are first read, and handed on", () => {
    const url = vi.fn(() => bytes("far away"));
    const fetched = vi.fn();
    const { wasi, open, read } = wasiWith(
      [{ path: "/far", size: 8, content: "http://x/far" }],
      { blob: () => new Uint8Array(), url },
      fetched,
    );
    const fd = open("far");
    expect(wasi.fd_filestat_get(fd, 64)).toBe(0);
    expect(url).not.toHaveBeenCalled();
    expect([read(fd, 3), read(fd, 9)]).toEqual(["far", " away"]);
    expect(url).toHaveBeenCalledTimes(1);
    expect(fetched.mock.calls[0][0]).toBe("/far");
  });

  test("that cannot be read are an error of the file", () => {
    vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const readers = {
      blob: () => new Uint8Array(),
      url: () => {
        throw new Error("404");
      },
    };
    const { wasi, open, view } = wasiWith([{ path: "/gone", size: 8, content: "http://x/gone" }], readers);
    view().setUint32(520, 1024, true);
    view().setUint32(524, 8, true);
    expect(wasi.fd_read(open("gone"), 520, 1, 516)).toBe(kErrno.io);
    vi.restoreAllMocks();
  });
});

describe("the rest", () => {
  test("is a console of whole lines", () => {
    const { wasi, view, put, lines } = wasiWith([]);
    put(1024, "one\ntwo");
    [1024, 7].forEach((value, i) => view().setUint32(520 + 4 * i, value, true));
    expect(wasi.fd_write(2, 520, 1, 516)).toBe(0);
    expect(lines).toEqual(["one"]);
    put(1024, " and\n..");
    wasi.fd_write(2, 520, 1, 516);
    expect(lines).toEqual(["one", "two and"]);
    expect(wasi.fd_write(9, 520, 1, 516)).toBe(kErrno.badf);
  });

  test("is a clock, random numbers, an empty environment, and an end", () => {
    const { wasi, view } = wasiWith([]);
    wasi.clock_time_get(0, 0n, 64);
    expect(Math.abs(Number(view().getBigUint64(64, true)) / 1e6 - Date.now())).toBeLessThan(5000);
    wasi.random_get(1024, 60000);
    expect(new Set(new Uint8Array(wasi.memory!.buffer, 1024, 60000)).size).toBeGreaterThan(200);
    expect(wasi.environ_sizes_get(64, 68)).toBe(0);
    expect(view().getUint32(64, true)).toBe(0);
    expect(() => wasi.proc_exit(3)).toThrow(ProgramExit);
  });
});
