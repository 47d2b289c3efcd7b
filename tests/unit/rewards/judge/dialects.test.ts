/** Servers of many dialects: each refusal costs the refused field alone; else a message names what to change. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testJudge } from "../../../support/judge.ts";
import {
  type Behaviour,
  type JudgeServer,
  judgeServer,
  type SeenCall,
  wellRead,
} from "../../../support/judge-server.ts";

let server: JudgeServer;
beforeAll(async () => {
  server = await judgeServer();
});
afterAll(() => server.close());

const PAIR = { reference: "a shiny red car", hypothesis: "a shiny red car" };
/** Every optional field of the first request, and what each refusal leaves of it. */
const ALL = ["max_tokens", "response_format", "seed", "stream", "temperature", "top_p"];
const without = (...names: string[]): string[] => ALL.filter((name) => !names.includes(name));

type Body = SeenCall["body"];
const json = (status: number, value: unknown): Behaviour => ({ status, body: JSON.stringify(value) });
const openai = (message: string, param: string | null = null): Behaviour =>
  json(400, { error: { message, type: "invalid_request_error", param, code: null } });
const fastapi = (...fields: string[]): unknown => ({
  detail: fields.map((field) => ({
    type: "extra_forbidden",
    loc: ["body", field],
    msg: "Extra inputs are not permitted",
    input: 0,
  })),
});
const format = (body: Body): string => String(body.response_format?.type);

/** A dialect refuses some requests; null accepts. */
type Dialect = (body: Body) => Behaviour | null;

describe("a refused field alone is left out", () => {
  test.each<[string, readonly string[], Dialect]>([
    [
      "Gemini: a list of errors, quotes escaped",
      without("seed"),
      ({ seed }) =>
        seed === undefined
          ? null
          : json(400, [
              {
                error: {
                  code: 400,
                  message: 'Invalid JSON payload received. Unknown name "seed": Cannot find field.',
                  status: "INVALID_ARGUMENT",
                },
              },
            ]),
    ],
    [
      "Azure: without quotes",
      without("seed"),
      ({ seed }) => (seed === undefined ? null : openai("Unrecognized request argument supplied: seed")),
    ],
    [
      "Azure: a list of fields, of which one is refused",
      without("seed"),
      ({ seed }) =>
        seed === undefined ? null : openai("Unrecognized request arguments supplied: response_format, seed"),
    ],
    [
      "Azure: a list of fields, all refused",
      without("seed", "response_format"),
      ({ seed, response_format }) => {
        const names = Object.entries({ response_format, seed }).flatMap(([name, sent]) =>
          sent === undefined ? [] : name,
        );
        return names.length === 0 ? null : openai(`Unrecognized request arguments supplied: ${names.join(", ")}`);
      },
    ],
    [
      "backticks",
      without("seed"),
      ({ seed }) => (seed === undefined ? null : openai("`seed` is not supported by this model")),
    ],
    ["`param` alone", without("seed"), ({ seed }) => (seed === undefined ? null : openai("Invalid value", "seed"))],
    [
      "OpenAI reasoning models",
      [...without("max_tokens", "temperature"), "max_completion_tokens"].sort(),
      (body) => {
        if ("max_tokens" in body)
          return openai(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            "max_tokens",
          );
        return "temperature" in body
          ? openai(
              "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
              "temperature",
            )
          : null;
      },
    ],
    [
      "two fields that exclude each other",
      without("top_p"),
      (body) =>
        "temperature" in body && "top_p" in body
          ? openai("`temperature` and `top_p` cannot both be specified for this model. Please use only one.")
          : null,
    ],
    [
      "FastAPI: detail with loc",
      without("seed", "top_p"),
      (body) => ("seed" in body || "top_p" in body ? json(422, fastapi("seed", "top_p")) : null),
    ],
    [
      "Mistral: errors inside message",
      without("seed"),
      (body) =>
        "seed" in body ? json(422, { object: "error", message: fastapi("seed"), type: "invalid_request_error" }) : null,
    ],
    [
      "a proxy: JSON inside message, status 400 as text",
      without("seed"),
      (body) =>
        "seed" in body
          ? json(400, {
              object: "error",
              message: JSON.stringify(fastapi("seed")),
              type: "internal_error_proxy",
              code: "1000",
            })
          : null,
    ],
    [
      "vLLM: errors as Python prints them, with the whole request as input",
      without("top_p"),
      (body) =>
        "top_p" in body
          ? json(400, {
              object: "error",
              message: `[{'type': 'extra_forbidden', 'loc': ('body', 'top_p'), 'msg': 'Extra inputs are not permitted', 'input': {'seed': 0, 'temperature': 0}}]`,
              type: "BadRequestError",
              param: null,
              code: 400,
            })
          : null,
    ],
    [
      "LiteLLM in front of Anthropic, with status 500",
      without("seed"),
      (body) =>
        "seed" in body
          ? json(500, {
              error: {
                message:
                  "litellm.UnsupportedParamsError: anthropic does not support parameters: {'seed': 0}, for model=claude. To drop these, set `litellm.drop_params=True` or for proxy:\n\n`litellm_settings:\n drop_params: true`\n",
                type: null,
                param: null,
                code: 500,
              },
            })
          : null,
    ],
    [
      "text generation inference: values out of its range",
      without("temperature", "top_p"),
      (body) => {
        if ("temperature" in body)
          return json(422, {
            error: "Input validation error: `temperature` must be strictly positive",
            error_type: "validation",
          });
        return "top_p" in body
          ? json(422, { error: "Input validation error: `top_p` must be > 0.0 and < 1.0", error_type: "validation" })
          : null;
      },
    ],
    [
      "serde: an unknown field beside all that are known",
      without("seed"),
      (body) =>
        "seed" in body
          ? {
              status: 422,
              body: "Failed to deserialize the JSON body into the target type: unknown field `seed`, expected one of `messages`, `model`, `temperature`, `top_p`, `max_tokens` at line 1 column 9",
            }
          : null,
    ],
    [
      "a list of what is supported",
      without("temperature"),
      (body) =>
        "temperature" in body
          ? openai("Supported parameters are: seed, top_p, max_tokens, stream. Not supported: temperature")
          : null,
    ],
    [
      "Go: a value of another type",
      without("seed"),
      (body) =>
        "seed" in body
          ? openai("json: cannot unmarshal number into Go struct field ChatCompletionRequest.seed of type string")
          : null,
    ],
    [
      "OpenRouter: the error of the server behind it, as text",
      without("seed"),
      (body) =>
        "seed" in body
          ? json(400, {
              error: {
                message: "Provider returned error",
                code: 400,
                metadata: {
                  raw: JSON.stringify({ error: { message: "Argument not supported: seed" } }),
                  provider_name: "X",
                },
              },
            })
          : null,
    ],
    ...(
      [
        ["Ajv", { error: { message: "must NOT have additional properties", params: { additionalProperty: "seed" } } }],
        ["ASP.NET", { title: "One or more validation errors occurred.", errors: { seed: ["It is unknown."] } }],
        ["problem details", { title: "Validation failed", invalid_params: [{ name: "seed", reason: "not allowed" }] }],
        ["capital keys", { Error: { Message: "SEED IS NOT SUPPORTED", Code: "InvalidParameter" } }],
        ["a proto of gRPC", { code: 3, message: 'proto: (line 1:85): unknown field "seed"', details: [] }],
        ["another language", { code: "1210", msg: "API 调用参数有误：不支持参数 seed" }],
      ] as const
    ).map(([name, body]): [string, readonly string[], Dialect] => [
      name,
      without("seed"),
      ({ seed }) => (seed === undefined ? null : json(400, body)),
    ]),
    [
      "an error of status 200",
      without("seed"),
      (body) =>
        "seed" in body ? { body: JSON.stringify({ error: { message: "Unknown parameter: seed", code: 400 } }) } : null,
    ],
  ])("%s", async (_, left, dialect) => {
    server.forget();
    server.script((_, { body }) => dialect(body) ?? "good");
    const judge = testJudge(server.url, { retries: 0, parallel: 1 });
    const [term] = await judge.terms([PAIR]);
    expect(term).toMatchObject({ value: 1, judge: { failure: null } });
    const sent = ({ body }: SeenCall): string[] =>
      Object.keys(body).filter((name) => name !== "model" && name !== "messages");
    expect(sent(server.calls.at(-1) as SeenCall).sort()).toEqual(left);
    if (left.includes("response_format"))
      expect(server.calls.map(({ body }) => format(body))).toEqual(server.calls.map(() => "json_schema"));
    // Learned once: the next verdict costs its own call only.
    server.forget();
    await judge.terms([{ ...PAIR, hypothesis: "a red car" }]);
    expect(server.calls).toHaveLength(1);
  });
});

test.each<[string, string, Dialect]>([
  [
    "Groq",
    "json_object",
    (body) =>
      format(body) === "json_schema"
        ? openai(
            "This model does not support response format `json_schema`. See supported models at https://console.groq.com/docs/structured-outputs#supported-models",
            "response_format",
          )
        : null,
  ],
  [
    "a schema checker",
    "json_object",
    (body) =>
      JSON.stringify(body.response_format).includes("maxItems")
        ? openai("Invalid schema for response_format 'verdict': In context=(), 'maxItems' is not permitted.")
        : null,
  ],
  [
    "llama.cpp",
    "json_object",
    (body) =>
      format(body) === "json_schema"
        ? json(400, {
            error: {
              code: 400,
              message: 'response_format type must be one of "text" or "json_object", but got: json_schema',
              type: "invalid_request_error",
            },
          })
        : null,
  ],
  [
    "xAI",
    "undefined",
    (body) =>
      "response_format" in body
        ? json(400, {
            code: "Client specified an invalid argument",
            error: "The response_format parameter is unsupported at the moment. Leave it unset.",
          })
        : null,
  ],
  ["a refusal without words", "undefined", (body) => ("response_format" in body ? { status: 400, body: "" } : null)],
])("a refused format takes its next form, and no other field is lost: %s", async (_, kept, dialect) => {
  server.forget();
  server.script((_, { body }) => dialect(body) ?? "good");
  const judge = testJudge(server.url, { retries: 0, parallel: 1 });
  // With the second verdict the first request of each kind has been refused.
  const [term] = await judge.terms([PAIR]);
  expect(term?.value).toBe(1);
  const last = server.calls.at(-1)?.body as Body;
  expect([format(last), last.temperature, last.seed]).toEqual([kept, 0, 0]);
});

test("a server that refuses all optional fields without a name gets none", async () => {
  server.forget();
  const bare = (body: object): boolean => Object.keys(body).length === 2;
  const refusal = json(400, { error: { message: "Extra inputs are not permitted" } });
  server.script((_, { body }) => (bare(body) ? "good" : refusal));
  const judge = testJudge(server.url, { retries: 0, parallel: 1 });
  expect((await judge.terms([PAIR]))[0]?.value).toBe(1);
  expect(server.calls.map(({ body }) => bare(body))).toEqual([false, false, false, true, true]);
});

/** A reply with changed letters; questions stay. */
const lettered = (change: (letter: string) => string) => (reply: string) =>
  reply.startsWith('{"q') ? reply.replace(/"([A-E])"/g, (_, letter: string) => JSON.stringify(change(letter))) : reply;

test.each<[string, (reply: string) => string]>([
  ["a fence with words around it", (reply) => `Here you go:\n\n\`\`\`JSON\n${reply}\n\`\`\`\nHope this helps!`],
  ["a fence of another language", (reply) => `\`\`\`javascript\n${reply}\n\`\`\``],
  ["a fence of tildes", (reply) => `~~~json\n${reply}\n~~~`],
  ["other marks of reasoning", (reply) => `<thinking>\n{"q1": "B"}\n</thinking>\n${reply}`],
  [
    "channels",
    (reply) => `<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>${reply}`,
  ],
  ["letters with their choices", lettered((letter) => `${letter}. A choice`)],
  ["letters in brackets", lettered((letter) => `(${letter.toLowerCase()})`)],
  ["letters with a bracket", lettered((letter) => `${letter}) yes`)],
])("a reply is read from %s", async (_, form) => {
  server.forget();
  server.script((_call, seen) => ({ reply: form(wellRead(seen)) }));
  expect((await testJudge(server.url, { retries: 0 }).terms([PAIR]))[0]?.value).toBe(1);
  expect(server.calls).toHaveLength(2);
});

test("a word is no letter", async () => {
  server.script((_call, seen) => ({ reply: lettered((letter) => `${letter} cup`)(wellRead(seen)) }));
  const [term] = await testJudge(server.url, { retries: 0 }).terms([PAIR]);
  expect(term).toMatchObject({ value: null, judge: { failure: "wrong-form" } });
});

test("a refusal that is not about a field changes none for later requests", async () => {
  server.forget();
  server.script((call) => (call < 4 ? { status: 400, body: "No." } : "good"));
  const judge = testJudge(server.url, { retries: 0, parallel: 1 });
  expect((await judge.terms([PAIR]))[0]).toMatchObject({ value: null, judge: { failure: "bad-request", calls: 4 } });
  server.script(() => "good");
  server.forget();
  expect((await judge.terms([PAIR]))[0]?.value).toBe(1);
  expect(server.calls.map(({ body }) => format(body))).toEqual(["json_schema", "json_schema"]);
});

test.each<[string, string]>([
  [
    "OpenAI",
    "max_tokens is too large: 500. This model supports at most 256 completion tokens, whereas you provided 500.",
  ],
  [
    "Groq",
    "`max_tokens` must be less than or equal to `256`, the maximum value for `max_tokens` is less than the `context_window` for this model",
  ],
  ["Anthropic", "max_tokens: 500 > 256, which is the maximum allowed number of output tokens for claude"],
  ["DeepSeek", "Invalid max_tokens value, the valid range of max_tokens is [1, 256]"],
])("a server's own limit of a reply is used: %s", async (_, message) => {
  server.forget();
  server.script((_, { body }) => (Number(body.max_tokens) > 256 ? openai(message) : "good"));
  const judge = testJudge(server.url, { retries: 0, parallel: 1 });
  expect((await judge.terms([PAIR]))[0]?.value).toBe(1);
  expect(server.calls.map(({ body }) => body.max_tokens)).toEqual([500, 256, 256]);
  // A limit that is too small for the reply is not the user's.
  server.script(() => ({ reply: '{"subject": "c', finish: "length" }));
  const [cut] = await judge.terms([{ ...PAIR, reference: "a blue boat" }]);
  expect(cut?.note).toBe(
    "The model's reply was cut off by the limit of 256 tokens; choose a judgeModel whose server allows more",
  );
});

const message = (fields: Record<string, unknown>, finish: string | null = "stop"): Behaviour => ({
  body: JSON.stringify({ choices: [{ index: 0, message: { role: "assistant", ...fields }, finish_reason: finish }] }),
});

test.each<[string, string, RegExp, Behaviour]>([
  [
    "an unfinished thought",
    "cut-off",
    /limit of 500 tokens; raise judgeMaxTokens$/,
    message({ content: "<think>\nstill thinking" }, "length"),
  ],
  [
    "an unfinished thought without a reason",
    "cut-off",
    /raise judgeMaxTokens$/,
    message({ content: "<think>\nstill thinking" }, null),
  ],
  [
    "reasoning and no reply",
    "cut-off",
    /raise judgeMaxTokens$/,
    message({ content: "", reasoning_content: "thinking…" }, "length"),
  ],
  ["nothing", "cut-off", /raise judgeMaxTokens$/, message({ content: "" })],
  ["no content, limit reached", "cut-off", /raise judgeMaxTokens$/, message({ content: null }, "length")],
  ["half an object", "cut-off", /raise judgeMaxTokens$/, message({ content: '{"subject": "c' }, "length")],
  [
    "half an object, in Anthropic's words",
    "cut-off",
    /raise judgeMaxTokens$/,
    message({ content: '{"subject": "c' }, "max_tokens"),
  ],
  [
    "half an object, in Gemini's words",
    "cut-off",
    /raise judgeMaxTokens$/,
    message({ content: '{"subject": "c' }, "MAX_TOKENS"),
  ],
  [
    "half an object, with its reason under another name",
    "cut-off",
    /raise judgeMaxTokens$/,
    json(200, {
      choices: [{ message: { content: '{"subject": "c' }, finish_reason: null, stop_reason: "max_tokens" }],
    }),
  ],
  [
    "half an object of all tokens, without a reason",
    "cut-off",
    /raise judgeMaxTokens$/,
    json(200, { choices: [{ message: { content: '{"subject": "c' } }], usage: { completion_tokens: 500 } }),
  ],
  [
    "an error of status 200 under its own names",
    "wrong-form",
    /contains no reply: insufficient balance$/,
    json(200, { base_resp: { status_code: 1008, status_msg: "insufficient balance" }, choices: null }),
  ],
  [
    "an answer of another API",
    "wrong-form",
    /no reply \(\{"model":"m".*\); check that judgeUrl is an OpenAI-compatible address/,
    json(200, { model: "m", message: { role: "assistant", content: "{}" }, done: true }),
  ],
  [
    "half an object after a filter",
    "cut-off",
    /content filter; choose another judgeModel$/,
    message({ content: '{"subject": "c' }, "content_filter"),
  ],
  [
    "a refusal",
    "wrong-form",
    /refused to answer: I cannot help.*judgeModel$/,
    message({ content: null, refusal: "I cannot help with that." }),
  ],
  ["prose", "not-json", /not JSON; choose a larger judgeModel/, message({ content: "Sure! Here it is." })],
  ["another form", "wrong-form", /choose a larger judgeModel/, message({ content: "[1]" })],
  ["a web page", "not-json", /web page; check that judgeUrl/, { body: "<html>login</html>" }],
  ["nothing at all", "not-json", /is empty; check that judgeUrl/, { body: "" }],
  ["lines of JSON", "not-json", /is not JSON; check that judgeUrl/, { body: '{"done":false}\n{"done":true}\n' }],
  ["a redirect", "no-model", /set judgeUrl to the final address$/, { status: 308, headers: { Location: "/v2" } }],
  [
    "reasoning alone, without a limit",
    "cut-off",
    /raise judgeMaxTokens$/,
    message({ content: "", reasoning_content: "The cup is red." }),
  ],
  ["a stream", "not-json", /turn streaming off/, { body: 'data: {"choices": []}\n\ndata: [DONE]\n\n' }],
  [
    "an error of status 200",
    "server",
    /status 502\): model overloaded$/,
    { body: '{"error":{"message":"model overloaded","code":502}}' },
  ],
  ["an error of status 200 as text", "server", /: slow down$/, { body: '{"error":"slow down"}' }],
  [
    "an exhausted quota of status 200",
    "rate-limited",
    /: You exceeded/,
    { body: '{"error":{"message":"You exceeded your quota","type":"insufficient_quota"}}' },
  ],
  [
    "a wrong key of status 200",
    "bad-key",
    /key \(status 401\): No key/,
    { body: '{"error":{"message":"No key","code":"invalid_api_key"}}' },
  ],
  [
    "an error inside the choice",
    "server",
    /status 502\): Upstream/,
    {
      body: '{"choices":[{"error":{"code":502,"message":"Upstream"},"finish_reason":"error","message":{"content":""}}]}',
    },
  ],
  [
    "another error inside status 200",
    "wrong-form",
    /no reply: balance is empty/,
    { body: '{"success":false,"message":"balance is empty"}' },
  ],
  [
    "a short context",
    "bad-request",
    /context length is 512.*change judgeMaxTokens/,
    openai(
      "This model's maximum context length is 512 tokens. However, you requested 900 tokens (100 in the messages, 800 in the completion).",
    ),
  ],
  [
    "a short context of llama.cpp",
    "bad-request",
    /change judgeMaxTokens/,
    json(400, {
      error: {
        code: 400,
        message:
          "the request exceeds the available context size. try increasing the context size or enable context shift",
        type: "exceed_context_size_error",
        n_prompt_tokens: 900,
        n_ctx: 512,
      },
    }),
  ],
  [
    "too small a limit",
    "bad-request",
    /at least 1000.*change judgeMaxTokens/,
    openai("max_tokens must be at least 1000"),
  ],
  [
    "an unknown model",
    "no-model",
    /model 'm' not found, try pulling it first$/,
    json(404, { error: { message: "model 'm' not found, try pulling it first", type: "api_error" } }),
  ],
])("a judge that gives no verdict says what to change: %s", async (_, failure, note, behaviour) => {
  server.forget();
  server.script(() => behaviour);
  const [term] = await testJudge(server.url, { retries: 0 }).terms([PAIR]);
  expect(term).toMatchObject({ value: null, judge: { failure } });
  expect(term?.note).toMatch(note);
  // No refusal about sizes costs a field.
  for (const { body } of server.calls) expect(format(body)).toBe("json_schema");
});

test("an error of status 200 is repeated as its status says", async () => {
  for (const [code, calls] of [
    [502, 3],
    ["rate_limit_exceeded", 3],
    [400, 4],
    [401, 1],
  ] as const) {
    server.forget();
    server.script((call) => (call === 0 ? { body: JSON.stringify({ error: { message: "later", code } }) } : "good"));
    const [term] = await testJudge(server.url, { retries: 1 }).terms([PAIR]);
    // 400 says nothing about a field, so that the format is tried in its next form.
    expect([term?.value, server.calls.length], String(code)).toEqual([calls === 1 ? null : 1, calls === 4 ? 3 : calls]);
  }
});

test("an empty error beside a reply is no error, and a reply among the reasoning is read", async () => {
  server.script((_, seen) => {
    const body = { error: null, choices: [{ message: { content: wellRead(seen) }, finish_reason: "stop" }] };
    return { body: JSON.stringify(body) };
  });
  expect((await testJudge(server.url).terms([PAIR]))[0]?.value).toBe(1);
  server.script((_, seen) => message({ content: null, reasoning_content: wellRead(seen) }));
  expect((await testJudge(server.url).terms([PAIR]))[0]?.value).toBe(1);
  // Without a schema nothing tells a verdict from a thought.
  const dlc = await testJudge(server.url, { dlc: true }).terms([PAIR]);
  expect(dlc[0]).toMatchObject({ value: null, judge: { failure: "cut-off" } });
  expect(dlc[0]?.note).toMatch(/choose a judgeModel that answers without reasoning$/);
});
