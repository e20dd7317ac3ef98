#!/usr/bin/env bash
# models/train.sh [NAME...] - trains the models that ship with the program, each within an hour on two cores, and puts
# them into models/NAME. Broken off, it goes on where it was. `make models` installs what it needs and runs it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=build/models
program=build/attnscope
names=("$@")
((${#names[@]} > 0)) || names=(tiny-translate tiny-gpt tiny-bert imdb-sentiment)
mkdir -p "$work"

reviews() {
  [[ -f $work/reviews.csv ]] || .venv/bin/python models/reviews.py --to "$work/reviews.csv"
}

# What a model is trained with; its card says why.
# First the language; then the habit of looking back, which forms at once where it is asked for (heads.svg); then the
# language again, which the second part has blurred.
tiny-gpt() {
  reviews
  local usual=(--data "$work/reviews.csv" --length 256 --batch 16)
  "$program" train lm "${usual[@]}" --to "$work/tiny-gpt-first" --vocabulary 1024 --layers 4 --heads 4 --width 128 \
    --steps 4000 --rate 0.002 --warmup 200 --repeats 0.2
  "$program" train lm "${usual[@]}" --to "$work/tiny-gpt-second" --from "$work/tiny-gpt-first" --steps 1200 --rate 0.001 \
    --warmup 50 --repeats 0.7 --record-every 25 --seed 2
  "$program" train lm "${usual[@]}" --to "$work/tiny-gpt" --from "$work/tiny-gpt-second" --steps 600 --rate 0.001 \
    --warmup 20 --repeats 0.2 --seed 3 --half
  cp "$work/tiny-gpt-second"/heads.{csv,svg} "$work/tiny-gpt/"
}

tiny-bert() {
  reviews
  "$program" train mlm --data "$work/reviews.csv" --to "$work/tiny-bert" --vocabulary 8000 --layers 4 --heads 4 \
    --width 160 --length 512 --batch 40 --steps 4000 --rate 0.0012 --warmup 300 --masked 0.4 --held-out 0.1 --half
}

tiny-translate() {
  [[ -f $work/pairs.csv ]] || python3 models/tiny-translate/grammar.py --count 20000 --seed 1 --to "$work/pairs.csv"
  "$program" train translate --data "$work/pairs.csv" --to "$work/tiny-translate" --layers 2 --heads 4 --width 96 \
    --length 32 --batch 64 --steps 1000 --rate 0.002 --warmup 200 --dropout 0.1 --half
}

imdb-sentiment() {
  reviews
  "$program" train classify --data "$work/reviews.csv" --to "$work/imdb-sentiment" --vocabulary 8000 --layers 2 \
    --heads 4 --width 128 --length 512 --batch 32 --steps 2400 --rate 0.0007 --warmup 150 --dropout 0.2 --held-out 0.1 \
    --evaluate-every 300 --half
}

for name in "${names[@]}"; do
  [[ $(type -t "$name") == function && $name != reviews ]] || {
    echo "train.sh: there is no model '$name'; there are tiny-translate, tiny-gpt, tiny-bert and imdb-sentiment" >&2
    exit 2
  }
  echo "$name"
  "$name"
  mkdir -p "models/$name"
  for file in config.json tokenizer.json tokenizer_config.json model.safetensors loss.csv loss.svg heads.csv heads.svg; do
    [[ ! -f $work/$name/$file ]] || cp "$work/$name/$file" "models/$name/$file"
  done
done
