// Every kind of request that the page makes, in an order in which both sides give recordings the same ids.
import { existsSync, readdirSync } from "node:fs";

export interface ParityRequest {
  method: string;
  url: string;
  body?: unknown;
  as?: "json" | "bytes" | "floats" | "text" | "size"; // how answers are compared; size: only that there is one
  ignore?: RegExp; // differences that are meant
}

const kText = "The film was great and the actors were wonderful, but the ending was weak.";
const get = (url: string, as: ParityRequest["as"] = "json", ignore?: RegExp): ParityRequest => ({
  method: "GET",
  url,
  as,
  ignore,
});
const post = (url: string, body: unknown, ignore?: RegExp): ParityRequest => ({ method: "POST", url, body, ignore });

const of = (id: number, part: string) => `api/recordings/${id}/${part}`;
const kHead = "kind=self&layer=1&head=2";

// The recordings of the list, by number.
const recordings: ParityRequest[] = [
  post("api/recordings", { model: "tiny-bert", text: kText }),
  post("api/recordings", { model: "tiny-bert", text: kText.replace("great", "terrible") }),
  post("api/recordings", { model: "tiny-bert", text: "The film was [MASK] and unbelievable.", pair: "It is over." }),
  post("api/recordings", { model: "tiny-bert", text: kText, mask: "causal & window(3)" }),
  post("api/recordings", { model: "tiny-bert", text: kText, off: [{ kind: "self", layer: 1, head: 2 }] }),
  post("api/recordings", { model: "tiny-gpt", text: "Once upon a time 今天 🌳 שלום" }),
  post("api/recordings", {
    model: "tiny-gpt",
    text: "Once upon a time",
    generate: { tokens: 8, temperature: 0, top_k: 0, top_p: 1, seed: 0 },
  }),
  post("api/recordings", { model: "tiny-translate", text: "the cat sees the dog" }),
  post("api/recordings", { model: "imdb-sentiment", text: kText }),
];
const ids = recordings.map((_, i) => i + 1);

const tables = ids.flatMap((id) => {
  const [kind, layer] = id === 8 ? ["cross", 0] : ["self", 1];
  const head = `kind=${kind}&layer=${layer}&head=0`;
  return [
    get(`api/recordings/${id}`, "json", /^bytes:/),
    // Under the mask of 4, heads are equally interesting but for rounding.
    get(`api/recordings/${id}?words=1`, "json", id === 4 ? /^(bytes|ranking|look_at)\b/ : /^bytes:/),
    get(of(id, `thumbnails?kind=${kind}`), "bytes"),
    get(of(id, `tile?${head}&level=0&row=0&column=0`), "bytes"),
    get(of(id, `tile?${head}&level=1&row=0&column=0`), "bytes"),
    get(of(id, `row?${head}&row=2`), "floats"),
    get(of(id, `column?${head}&column=1`), "floats"),
    get(of(id, `profile?${head}`)),
    get(of(id, `predictions?top=5`)),
    get(of(id, `trace?${head}&row=2&column=1`)),
  ];
});

const looks: ParityRequest[] = [
  ...["measure=value", "measure=rollout", "without_sinks=1", "words=1"].flatMap((how) => [
    get(of(1, `tile?${kHead}&level=0&row=0&column=0&${how}`), "bytes"),
    get(of(1, `row?${kHead}&row=4&${how}`), "floats"),
  ]),
  get(of(3, "predictions?top=10&temperature=0.5&at=4")),
  get(of(5, "predictions?top=10&against=1")),
  get(of(4, "predictions?against=1")),
  get(of(1, "effects?top=5")),
  get("api/patterns"),
  post(of(1, "find"), { pattern: "previous", kind: "self" }),
  post(of(1, "find"), { pattern: "causal & windw(2)", kind: "self" }),
  post(of(1, "find"), { picture: [[1, 0], [0, 1]], kind: "self" }), // prettier-ignore
  get(of(1, "table?kind=self&layer=1&head=2&format=csv"), "text"),
  get(of(1, "table?kind=self&layer=1&head=2&format=npy"), "size"),
  get(of(1, "recording"), "size"),
  get(of(1, "page?state=view%3Dmatrix"), "size"),
  ...["heatmap", "headview", "overview"].map((view) => get(of(1, `figure?view=${view}&${kHead}&format=svg`), "size")),
];

const comparisons: ParityRequest[] = [
  get("api/compare?a=1&b=2"),
  get("api/compare?a=1&b=2&words=1"),
  get(`api/compare/tile?a=1&b=2&${kHead}&level=0&row=0&column=0`, "bytes"),
  get(`api/compare/row?a=1&b=2&${kHead}&row=3`, "floats"),
  get(`api/compare/column?a=1&b=2&${kHead}&column=3`, "floats"),
  get("api/compare/thumbnails?a=1&b=2&kind=self", "bytes"),
  get(`api/compare/figure?a=1&b=2&${kHead}&format=svg`, "size"),
  get("api/compare?a=1&b=9"),
];

const masks = ["causal & window(3)", "global(1) | window(2)", "causal & widow(3)", "table(10,11)"].flatMap((text) => [
  post("api/mask", { text, queries: 16, keys: 16 }),
  post("api/mask", { text, queries: 600, keys: 600 }),
]);

const wrong: ParityRequest[] = [
  get("api/nothing"),
  get("api/recordings/99"),
  get(of(1, "row?kind=self&layer=9&head=0&row=0")),
  get(of(1, "figure?format=gif&layer=0&head=0")),
  post("api/recordings", { model: "nobody", text: "x" }),
  post("api/recordings", { model: "tiny-bert", text: "" }),
  { method: "DELETE", url: "api/models" },
];

const folder = new URL("../../../lessons/", import.meta.url);
const lessonNames = readdirSync(folder).filter((name) => existsSync(new URL(`${name}/lesson.json`, folder)));
// These lessons measure time: such arrays, and numbers in texts, differ from run to run.
const kMeasured =
  /^(steps\.\d+\.blocks\.\d+\.text|arrays\.(faster|growth|raced|threads|measured_runs|\w*(ratio|seconds)))\./;
const kTimed: Record<string, RegExp> = { linear: kMeasured, "rnn-or-attention": kMeasured, speed: kMeasured };
const lessons: ParityRequest[] = [
  ...["en", "zh"].map((language) => get(`api/lessons?lang=${language}`)),
  ...lessonNames.flatMap((name) => [
    get(`api/lessons/${name}?lang=en`, "json", kTimed[name]),
    post(`api/lessons/${name}`, { lang: "zh" }, kTimed[name]),
  ]),
  post("api/lessons/why-scale", { lang: "en", settings: { d_k: 8 }, data: { large: [[1, 2, 100]] } }),
  post("api/lessons/why-scale/answer", { step: "exercise", question: 0, answer: 22.6 }),
];

export const kRequests: ParityRequest[] = [
  ...recordings,
  get("api/models", "json", /\.given:/), // on the command line
  ...tables,
  ...looks,
  ...comparisons,
  ...masks,
  ...wrong,
  ...lessons,
];
