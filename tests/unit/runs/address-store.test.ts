/** A run behind an address, read from a real server as it grows, is rewritten, and breaks off. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addressStore } from "../../../src/plugins/run-address/address-store.ts";

let server: Server;
let base = "";
let metrics = "";
/** Bytes of metrics that were sent, and whether the connection breaks in the middle of an answer. */
let [sent, cut] = [0, false];
const TOKEN = "abc";

function answer(request: IncomingMessage, response: ServerResponse): void {
  if (request.headers.authorization !== `Bearer ${TOKEN}`) return void response.writeHead(401).end();
  if (request.url === "/run.json") return void response.end('{"id":"far-1"}');
  if (request.url === "/files.json") return void response.end(`[{"path":"metrics.jsonl","size":${metrics.length}}]`);
  const tag = `"${metrics.length}-${metrics.slice(0, 40)}"`.replaceAll(/[^\x20-\x7e]/g, "").replaceAll('"', "'");
  if (request.headers["if-none-match"] === tag) return void response.writeHead(304).end();
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
  if (from >= metrics.length) return void response.writeHead(416).end();
  const body = metrics.slice(from);
  response.writeHead(from > 0 ? 206 : 200, { "Content-Length": body.length, ETag: tag });
  if (cut) return void response.write(body.slice(0, 3), () => request.socket.destroy());
  sent += body.length;
  response.end(body);
}

beforeAll(async () => {
  server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterAll(() => void server.close());

const line = (step: number): string => `${JSON.stringify({ step, loss: step / 7, note: "x".repeat(200) })}\n`;
const lines = (...steps: readonly number[]): string => steps.map(line).join("");

test("what is added is all that is fetched, and a file that was rewritten is read anew", async () => {
  metrics = lines(1, 2, 3, 4, 5, 6, 7, 8);
  const { store, runId } = await addressStore(base, TOKEN);
  expect(runId).toBe("far-1");
  const read = () => store.readText("far-1/metrics.jsonl");
  expect(await read()).toBe(metrics);
  sent = 0;
  expect(await read()).toBe(metrics);
  expect(sent).toBe(0);
  // A line of which half is there.
  metrics += line(9).slice(0, 30);
  expect(await read()).toBe(metrics);
  metrics = lines(1, 2, 3, 4, 5, 6, 7, 8, 9);
  expect(await read()).toBe(metrics);
  expect(sent).toBeLessThan(3 * 256 + line(9).length);
  // A resumed run dropped its last lines and wrote others.
  for (const other of [lines(1, 2, 3), lines(1, 2, 3, 10, 11, 12, 13, 14, 15, 16, 17)]) {
    metrics = other;
    expect(await read()).toBe(other);
  }
});

test("a wrong token, a cut connection and a server that is gone have one sentence each", async () => {
  await expect(addressStore(base, "wrong")).rejects.toThrow(/requires the token that it printed when it started/);
  metrics = lines(1, 2);
  const { store } = await addressStore(base, TOKEN);
  cut = true;
  await expect(store.readText("far-1/metrics.jsonl")).rejects.toThrow(
    /closed the connection while it sent metrics.jsonl; what was read before is kept$/,
  );
  cut = false;
  expect(await store.readText("far-1/metrics.jsonl")).toBe(metrics);
  await new Promise((done) => server.close(done).closeAllConnections());
  await expect(store.readText("far-1/metrics.jsonl")).rejects.toThrow(/did not answer: it is not running/);
});
