import { request, requestJson, requestStream, type Listeners, type RequestOptions, HttpError } from "../http";
import { type Facts, type HeadName, type Kind, type ModelFacts, type RecordingName, recordRequestOf } from "../facts";
import { requestRecording } from "../recordRequest";
import type { Measure } from "../../state/urlState";
import { measureQuery, modelsUrl, type Query, recordingPartUrl, recordingsUrl, recordingUrl } from "../routes";
import type { Profile, Source, MapTile, MapTileName, Recording } from "./source";

export async function listRecordings(): Promise<RecordingName[]> {
  const { recordings } = await requestJson<{ recordings: RecordingName[] }>(recordingsUrl());
  return recordings.filter(({ stays }) => stays !== false);
}

export async function listModels(): Promise<ModelFacts[]> {
  return (await requestJson<{ models: ModelFacts[] }>(modelsUrl())).models;
}

export class ServedSource implements Recording {
  readonly canMergeWords = true;
  readonly exact = true;
  readonly highestLevel = Infinity;

  private constructor(
    readonly facts: Facts,
    private readonly words: boolean,
    private readonly measured: Query = {}, // the measure of all tables
  ) {}

  withMeasure(measure: Measure, withoutSinks: boolean): Source {
    return new ServedSource(this.facts, this.words, measureQuery(measure, withoutSinks));
  }

  // The server scans all weights once before the first answer, and reports that to `on.progress`.
  static async open(id: string, words: boolean, signal?: AbortSignal, on?: Listeners): Promise<ServedSource> {
    const url = recordingUrl(id, words);
    await requestStream(url, { signal, on });
    return new ServedSource(await requestJson<Facts>(url, { signal }), words);
  }

  // Requests of single views; long() reports progress.
  answer(what: string, query: Query = {}, options: RequestOptions = {}): Promise<Response> {
    return this.retried(() => request(this.url(what, query, false), options));
  }

  // For a link.
  address(what: string, query: Query): string {
    return this.url(what, query, false);
  }

  json<T>(what: string, query: Query = {}, options: RequestOptions = {}): Promise<T> {
    return this.retried(() => requestJson<T>(this.url(what, query, false), options));
  }

  long<T>(what: string, query: Query = {}, options: RequestOptions = {}): Promise<T> {
    return this.retried(() => requestStream<T>(this.url(what, query, false), options));
  }

  // Records again, at most once per request, if the server has dropped the recording.
  private async retried<T>(put: () => Promise<T>): Promise<T> {
    const { id } = this.facts;
    const request = recordRequestOf(this.facts);
    try {
      return await put();
    } catch (problem) {
      if (!request || !(problem instanceof HttpError) || problem.status !== 404) throw problem;
    }
    if (this.facts.id === id) {
      this.recording ??= requestRecording(request)
        .then((fresh) => void (this.facts.id = fresh))
        .finally(() => (this.recording = null));
      await this.recording;
    }
    return put();
  }
  private recording: Promise<void> | null = null;

  has(): boolean {
    return true;
  }

  async thumbnails(kind: Kind): Promise<Uint8Array> {
    return new Uint8Array(await this.bytes("thumbnails", { kind }));
  }

  async tile(head: HeadName, tile: MapTileName, signal?: AbortSignal): Promise<MapTile> {
    const response = await this.retried(() =>
      request(this.url("tile", { ...headQuery(head), ...tile, ...this.measured }), { signal }),
    );
    return readMapTile(response);
  }

  async row(head: HeadName, row: number, signal?: AbortSignal): Promise<Float32Array> {
    return new Float32Array(await this.bytes("row", { ...headQuery(head), row, ...this.measured }, signal));
  }

  async column(head: HeadName, column: number, signal?: AbortSignal): Promise<Float32Array> {
    return new Float32Array(await this.bytes("column", { ...headQuery(head), column, ...this.measured }, signal));
  }

  async profile(head: HeadName, signal?: AbortSignal): Promise<Profile> {
    return this.retried(() => requestJson(this.url("profile", { ...headQuery(head), ...this.measured }), { signal }));
  }

  private async bytes(what: string, query: Query, signal?: AbortSignal): Promise<ArrayBuffer> {
    return (await this.retried(() => request(this.url(what, query), { signal }))).arrayBuffer();
  }

  private url(what: string, query: Query, words = this.words): string {
    return recordingPartUrl(this.facts.id, what, query, words);
  }
}

export const headQuery = ({ kind, layer, head }: HeadName): Query => ({ kind, layer, head });

// An answer whose header says how many rows and columns of bytes it has.
export async function readMapTile(response: Response): Promise<MapTile> {
  const [rows, columns] = (response.headers.get("X-Shape") ?? "").split(",").map(Number);
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (bytes.length !== rows * columns) throw new Error(`a tile of ${rows} x ${columns} came as ${bytes.length} bytes`);
  return { rows, columns, bytes, scale: Number(response.headers.get("X-Scale") ?? 1) };
}
