/**
 * A local OpenAI-compatible server whose every answer is scripted. Its valid answers depend on the text: it looks up
 * the words of questions in the description, so that its verdicts are predictable.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What the server does with one call. */
export type Behaviour =
  | "good"
  /** Good, after so many milliseconds. */
  | { readonly slow: number }
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
  /** Good HTTP, this text as the model's reply, and why the model stopped ("stop" when absent). */
  | { readonly reply: string; readonly finish?: string }
  /** Status 200 with this body. */
  | { readonly body: string }
  /** Never answers. */
  | "hang"
  /** Announces a long body, sends a part and closes. */
  | "cut"
  /** Closes without a word. */
  | "drop";

export interface SeenCall {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
  readonly body: {
    readonly model: string;
    readonly messages: readonly { readonly role: string; readonly content: string }[];
    readonly response_format?: { readonly type: string; readonly json_schema?: { readonly schema: unknown } };
    readonly [name: string]: unknown;
  };
}

export interface JudgeServer {
  readonly url: string;
  readonly calls: readonly SeenCall[];
  /** The highest number of concurrent calls. */
  readonly peak: number;
  /** Replaces the script; the call's number counts from 0 at each replacement. */
  script(next: (call: number, seen: SeenCall) => Behaviour): void;
  /** Forgets the recorded calls. */
  forget(): void;
  close(): Promise<void>;
}

export async function judgeServer(models: readonly string[] = ["reader-1"]): Promise<JudgeServer> {
  let next: (call: number, seen: SeenCall) => Behaviour = () => "good";
  let number = 0;
  let [active, peak] = [0, 0];
  const calls: SeenCall[] = [];

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.setHeader("Access-Control-Allow-Origin", "*");
    response.setHeader("Access-Control-Allow-Headers", "authorization, content-type");
    if (request.method === "OPTIONS") return void response.writeHead(204).end();
    if (request.url?.startsWith("/v1/models")) {
      return void send(response, 200, { data: models.map((id) => ({ id, object: "model" })) });
    }
    active++;
    peak = Math.max(peak, active);
    response.on("close", () => active--);
    let text = "";
    for await (const piece of request) text += String(piece);
    const seen: SeenCall = {
      path: request.url ?? "",
      headers: request.headers,
      text,
      body: JSON.parse(text) as SeenCall["body"],
    };
    calls.push(seen);
    const behaviour = next(number++, seen);
    if (behaviour === "hang") return;
    if (behaviour === "drop") return void request.socket.destroy();
    if (behaviour === "cut") {
      response.writeHead(200, { "Content-Type": "application/json", "Content-Length": "100000" });
      response.write('{"choices": [{"message": {"content": "');
      return void setTimeout(() => request.socket.destroy(), 5);
    }
    if (behaviour !== "good" && "slow" in behaviour) {
      await new Promise((resolve) => setTimeout(resolve, behaviour.slow));
    }
    if (behaviour !== "good" && "status" in behaviour) {
      return void response
        .writeHead(behaviour.status, behaviour.headers)
        .end(behaviour.body ?? JSON.stringify({ error: { message: `scripted ${behaviour.status}` } }));
    }
    if (behaviour !== "good" && "body" in behaviour) return void response.writeHead(200).end(behaviour.body);
    const reply = behaviour !== "good" && "reply" in behaviour ? behaviour.reply : wellRead(seen);
    const finish = (behaviour !== "good" && "reply" in behaviour ? behaviour.finish : undefined) ?? "stop";
    send(response, 200, {
      choices: [{ index: 0, message: { role: "assistant", content: reply }, finish_reason: finish }],
      usage: { prompt_tokens: 100, completion_tokens: 10 },
    });
  };

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    get peak() {
      return peak;
    },
    script(behaviours) {
      next = behaviours;
      number = 0;
    },
    forget() {
      calls.length = 0;
      number = 0;
      peak = 0;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function send(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
}

/** The reply of a reader that takes words literally. */
export function wellRead({ body }: SeenCall): string {
  const prompt = body.messages[0]?.content ?? "";
  const description = (/<description>\s*([\s\S]*?)\s*<\/description>/.exec(prompt)?.[1] ?? "").toLowerCase();
  const words = [...new Set(description.match(/[a-z]{3,}/g) ?? [])].filter((word) => !STOP.has(word));
  if (prompt.includes('"attributes"')) {
    return JSON.stringify({
      subject: words.at(-1) ?? "thing",
      attributes: words.slice(0, 4).map((word) => ({ part: word, attribute: "presence", value: word })),
      absent: ["elephant", "spaceship"],
    });
  }
  const named = [...prompt.matchAll(/^q(\d+)\. (.*)\n((?:[A-E]\. .*\n?)+)/gm)];
  if (named.length > 0) {
    return JSON.stringify(
      Object.fromEntries(
        named.map(([, number, question, choices]) => [
          `q${number}`,
          choose(question ?? "", choices ?? "", description),
        ]),
      ),
    );
  }
  const [, question = "", choices = ""] = /Question: (.*)\n((?:[A-E]\. .*\n?)+)/.exec(prompt) ?? [];
  return choose(question, choices, description);
}

const STOP = new Set(["the", "and", "with", "its"]);

/** Letter of the choice that fits the description, by whether the quoted word is in it. */
function choose(question: string, choices: string, description: string): string {
  const lines = choices.trim().split("\n");
  const word = (/"([^"]+)"/.exec(question) ?? /"([^"]+)"/.exec(choices))?.[1]?.toLowerCase() ?? "";
  const there = description.includes(word);
  const wanted = lines.some((line) => line.endsWith("Yes"))
    ? there
      ? /Yes$/
      : /No$/
    : there
      ? /and it is|is mentioned as being|is mentioned\.?$/
      : /not mentioned/;
  return (lines.find((line) => wanted.test(line)) ?? lines[0] ?? "A").slice(0, 1);
}
