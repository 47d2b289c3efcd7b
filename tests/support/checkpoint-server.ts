/** A local server of checkpoint files whose faults are scripted: what it refuses, forgets, cuts off or changes. */
import { readFile, stat } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

export interface Seen {
  readonly method: string;
  readonly path: string;
  /** First and last byte asked for; null without a Range. */
  readonly range: readonly [number, number] | null;
  /** Bytes of the body that were written. */
  sent: number;
}

/** What one answer does otherwise than it should. */
export interface Fault {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Closes the connection after so many bytes of the body, the length having been announced. */
  readonly cutAfter?: number;
  /** Ends the body after so many bytes in good form: no length is announced. */
  readonly endAfter?: number;
  /** Adds so many bytes to the body, no length announced. */
  readonly tooMany?: number;
  /** Sends so many bytes, then nothing, and keeps the connection open. */
  readonly stallAfter?: number;
  /** Closes without a word. */
  readonly drop?: true;
  /** This in place of the file. */
  readonly body?: string | Uint8Array;
}

export interface Manner {
  readonly cors: boolean;
  readonly ranges: boolean;
  readonly head: boolean;
  readonly lengths: boolean;
  readonly tag: "etag" | "date" | "none";
}

export interface CheckpointServer {
  /** Address of the folder, with a slash at its end. */
  readonly url: string;
  /** Address of the server as a hub: `owner/tiny` is the folder, any revision. */
  readonly hub: string;
  readonly seen: Seen[];
  manner: Manner;
  /** Whether the hub lists its files. */
  listing: boolean;
  /** Asked before every answer; `count` is the number of requests for this path so far, from 0. */
  fault: (path: string, count: number, seen: Seen) => Fault | null;
  /** Good manners again, nothing seen. */
  reset(): void;
  /** Bytes of the weight files sent since the last reset. */
  weightBytes(): number;
  /** Closes every connection, as a network that breaks down does; the next one is answered. */
  cut(): void;
  close(): Promise<void>;
}

const GOOD: Manner = { cors: true, ranges: true, head: true, lengths: true, tag: "etag" };
const HUB = /^\/(?:api\/models\/)?owner\/tiny\/(tree|resolve)\/[^/]+\/?(.*)$/;

/** @param directory the folder that is served; other files than those asked for stay private to it */
export async function checkpointServer(directory: string): Promise<CheckpointServer> {
  let counts = new Map<string, number>();
  const state = {
    seen: [] as Seen[],
    manner: GOOD,
    listing: true,
    fault: (() => null) as CheckpointServer["fault"],
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname } = new URL(request.url ?? "/", "http://server");
    const { cors, ranges, head, lengths, tag } = state.manner;
    const hub = HUB.exec(pathname);
    const path = hub?.[1] === "tree" ? "tree" : hub !== null ? (hub[2] as string) : pathname.replace(/^\/folder\//, "");
    const asked = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "");
    const seen: Seen = {
      method: request.method ?? "",
      path,
      range: asked === null ? null : [Number(asked[1]), Number(asked[2])],
      sent: 0,
    };
    state.seen.push(seen);
    const count = counts.get(path) ?? 0;
    counts.set(path, count + 1);
    const fault = state.fault(path, count, seen) ?? {};
    if (fault.drop === true) return void request.socket.destroy();
    if (cors) response.setHeader("Access-Control-Allow-Origin", "*");
    if (cors) response.setHeader("Access-Control-Expose-Headers", "ETag, Content-Range");
    for (const [name, value] of Object.entries(fault.headers ?? {})) response.setHeader(name, value);
    if (fault.status !== undefined) return void response.writeHead(fault.status).end(fault.body ?? "");
    if (request.method === "HEAD" && !head) return void response.writeHead(405).end();
    if (path === "tree") return void (await list(response));
    const file = join(directory, path);
    const info = await stat(file).catch(() => null);
    if (info === null || !info.isFile()) return void response.writeHead(404).end("no such file");
    const whole = fault.body === undefined ? await readFile(file) : Buffer.from(fault.body as string);
    const part = ranges && seen.range !== null;
    if (part && (seen.range?.[0] ?? 0) >= whole.length) return void response.writeHead(416).end();
    const [from, to] = part ? (seen.range as [number, number]) : [0, whole.length - 1];
    const body = Buffer.concat([whole.subarray(from, to + 1), Buffer.alloc(fault.tooMany ?? 0)]);
    if (tag === "etag" && fault.headers?.ETag === undefined) response.setHeader("ETag", `"${path}-${whole.length}"`);
    if (tag === "date") response.setHeader("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT");
    const range = `bytes ${from}-${Math.min(to, whole.length - 1)}/${whole.length}`;
    if (part && fault.headers?.["Content-Range"] === undefined) response.setHeader("Content-Range", range);
    const announced = lengths && fault.endAfter === undefined && fault.tooMany === undefined;
    response.writeHead(part ? 206 : 200, announced ? { "Content-Length": String(body.length) } : {});
    if (request.method === "HEAD") return void response.end();
    await send(response, seen, body, fault);
  };

  const list = async (response: ServerResponse): Promise<void> => {
    if (!state.listing) return void response.writeHead(404).end();
    const { readdir } = await import("node:fs/promises");
    const names = (await readdir(directory)).sort();
    const entries = await Promise.all(
      names.map(async (path) => {
        const { size } = await stat(join(directory, path));
        const lfs = path.endsWith(".safetensors") ? { lfs: { oid: `sha256 of ${path}`, size } } : {};
        return { type: "file", path, size: size + (path.endsWith(".safetensors") ? 1 : 0), oid: `git ${path}`, ...lfs };
      }),
    );
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(entries));
  };

  const server = createServer((request, response) => {
    answer(request, response).catch((thrown: unknown) => response.destroy(thrown as Error));
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(state, {
    url: `${origin}/folder/`,
    hub: origin,
    reset() {
      counts = new Map();
      Object.assign(state, { seen: [], manner: GOOD, listing: true, fault: () => null });
    },
    weightBytes: () =>
      state.seen.filter(({ path }) => path.endsWith(".safetensors")).reduce((sum, { sent }) => sum + sent, 0),
    cut: () => server.closeAllConnections(),
    close: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  });
}

/** Writes a body in pieces as far as the fault lets it; a reader that leaves ends it. */
async function send(response: ServerResponse, seen: Seen, body: Buffer, fault: Fault): Promise<void> {
  const most = Math.min(body.length, fault.cutAfter ?? fault.endAfter ?? fault.stallAfter ?? body.length);
  const PIECE = 16_384;
  for (let at = 0; at < most && !response.destroyed; at += PIECE) {
    const piece = body.subarray(at, Math.min(most, at + PIECE));
    const room = response.write(piece);
    seen.sent += piece.length;
    if (!room) await drained(response);
  }
  if (fault.cutAfter !== undefined && fault.cutAfter < body.length) {
    // What was written goes out before the line is cut.
    setTimeout(() => response.destroy(), 10);
  } else if (fault.stallAfter === undefined) response.end();
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
}
