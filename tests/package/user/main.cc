// main.cc - what a user's first program looks like.
#include <attn/attn.h>

#include <cstdio>

int main() {
  float q[] = {1, 0}, k[] = {1, 0, 0, 1, 1, 0}, v[] = {10, 0, 0, 20, 30, 0}, out[2];
  attn::View<float, 4> queries{q, {1, 1, 1, 2}}, keys{k, {1, 1, 3, 2}}, values{v, {1, 1, 3, 2}};
  attn::ThreadPool pool;
  attn::attention({queries, keys, values}, {}, {out, {1, 1, 1, 2}}, {}, pool);
  std::printf("%.2f %.2f\n", out[0], out[1]);
}
