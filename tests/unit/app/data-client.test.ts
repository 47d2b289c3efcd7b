import { describe, expect, it } from "vitest";
import { createDataClient } from "../../../src/app/clients/data-client.ts";
import type { FromData, ToData } from "../../../src/protocol/data.ts";

/** A worker end that is answered by hand. */
function fakeWorker() {
  const sent: ToData[] = [];
  let listener: (event: MessageEvent) => void = () => undefined;
  const worker = {
    postMessage: (message: ToData) => void sent.push(message),
    addEventListener: (_type: string, added: (event: MessageEvent) => void) => {
      listener = added;
    },
  } as unknown as Parameters<typeof createDataClient>[0];
  return { sent, worker, answer: (message: FromData) => listener({ data: message } as MessageEvent) };
}

const requestOf = (message: ToData | undefined): number =>
  message !== undefined && "request" in message ? message.request : -1;
const bitmap = { width: 4, height: 3 } as ImageBitmap;

describe("createDataClient", () => {
  it("asks for a picture once per size and again after a failure", async () => {
    const { sent, worker, answer } = fakeWorker();
    const client = createDataClient(worker);
    const [first, second] = [client.image("a#1", null, 192), client.image("a#1", null, 192)];
    expect(sent).toHaveLength(1);
    answer({ type: "image", request: requestOf(sent[0]), bitmap, width: 4, height: 3 });
    expect(await first).toBe(bitmap);
    expect(await second).toBe(bitmap);

    const failing = client.image("b#1", null, 192);
    answer({ type: "failed", request: requestOf(sent[1]), error: { code: "bad-input", message: "broken JPEG" } });
    await expect(failing).rejects.toThrow("broken JPEG");
    const again = client.image("b#1", null, 192);
    answer({ type: "image", request: requestOf(sent[2]), bitmap, width: 4, height: 3 });
    expect(await again).toBe(bitmap);
  });

  it("asks for the picture that a stored run names, beside that of the open row", async () => {
    const { sent, worker, answer } = fakeWorker();
    const client = createDataClient(worker);
    const open = client.image("a#1", null, 192);
    const stored = client.image("a#1", "bb", 192);
    expect(sent.map((message) => message.type === "image" && message.imageId)).toEqual([null, "bb"]);
    answer({ type: "image", request: requestOf(sent[0]), bitmap, width: 4, height: 3 });
    answer({ type: "failed", request: requestOf(sent[1]), error: { code: "bad-input", message: "another picture" } });
    expect(await open).toBe(bitmap);
    await expect(stored).rejects.toThrow("another picture");
  });

  it("matches answers to requests whatever their order", async () => {
    const { sent, worker, answer } = fakeWorker();
    const client = createDataClient(worker);
    const [one, two] = [client.rawRow("one"), client.rawRow("two")];
    answer({ type: "raw-row", request: requestOf(sent[1]), text: "2" });
    answer({ type: "raw-row", request: requestOf(sent[0]), text: "1" });
    expect(await one).toBe("1");
    expect(await two).toBe("2");
  });

  it("passes unasked messages on and fails everything when the worker is gone for good", async () => {
    const { worker, answer } = fakeWorker();
    const client = createDataClient(worker);
    const heard: string[] = [];
    client.onEvent((event) => heard.push(event.type));
    answer({ type: "rows", rows: [] });
    answer({ type: "failed", request: null, error: { code: "storage", message: "no room" } });
    expect(heard).toEqual(["rows", "failed"]);
    const open = client.runs();
    client.fail({ code: "internal", message: "gone" }, true);
    await expect(open).rejects.toThrow("gone");
    await expect(client.runs()).rejects.toThrow("gone");
  });
});
