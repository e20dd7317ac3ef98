// Runs the module for Python: node bench/wasm/module.mjs FILE.wasm
//
// Each line of standard input is a request, each line of standard output its answer, both JSON:
//   {"make": TEXT}                  the number of the work that calls.h describes
//   {"run": WORK, "count": COUNT}   {"wall": SECONDS, "cpu": SECONDS} of all runs; CPU time of the whole process
//   {"result": WORK}                its floats, base64
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { WASI } from "node:wasi";

const wasi = new WASI({ version: "preview1" });
const module = new WebAssembly.Module(readFileSync(process.argv[2]));
const instance = new WebAssembly.Instance(module, wasi.getImportObject());
wasi.initialize(instance);
const { memory, bench_text, bench_make, bench_run, bench_result, bench_result_size } = instance.exports;

function make(text) {
  new Uint8Array(memory.buffer, bench_text()).set(new TextEncoder().encode(`${text}\0`));
  return bench_make();
}

function run(work, count) {
  const cpu = process.cpuUsage();
  const start = performance.now();
  bench_run(work, count);
  const wall = (performance.now() - start) / 1e3;
  const { user, system } = process.cpuUsage(cpu);
  return { wall, cpu: (user + system) / 1e6 };
}

const result = (work) => Buffer.from(memory.buffer, bench_result(work), 4 * bench_result_size(work)).toString("base64");

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  const answer = "make" in asked ? make(asked.make) : "run" in asked ? run(asked.run, asked.count) : result(asked.result);
  console.log(JSON.stringify(answer));
}
