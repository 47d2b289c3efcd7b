import { describe, expect, it, vi } from "vitest";
import { useConsent } from "../../../src/app/stores/consent.ts";
import { followAddress } from "../../../src/app/stores/route.ts";
import { FALLBACK, formatRoute, parseRoute, type Route, routeProblems } from "../../../src/app/stores/route-text.ts";
import { changeConfig, useSession } from "../../../src/app/stores/session.ts";
import { isUnlinked, parseConfig } from "../../../src/engine/config/parse.ts";
import { SETTINGS } from "../../../src/engine/config/table.ts";
import { fakeAddress } from "./fake-lab.ts";

describe("route", () => {
  it("comes back from its own text", () => {
    const route: Route = {
      ...FALLBACK,
      screen: "train",
      run: "2026-brave-otter",
      compare: ["a", "b"],
      step: 12,
      rollout: "12-1-0-3",
      row: "shards/data 1.arrow#7/2",
      layers: [],
      metrics: ["loop1/loss", "ema/distance"],
      smooth: 0.9,
      x: "time",
      chart: "reward",
      log: ["kl"],
      tab: "held-out",
      view: "table",
      filter: "loop:1 reward:0.2..0.4 is:truncated red cup",
      rows: "category:chair area:0.01..0.2",
    };
    expect(parseRoute(formatRoute(route, {}, "demo"))).toEqual(route);
  });

  it("leaves defaults out and adds settings and preset", () => {
    expect(formatRoute({ ...FALLBACK, screen: "setup" }, { numGenerations: 8 }, "repair")).toBe(
      "#screen=setup&preset=repair&numGenerations=8",
    );
  });

  it("brings a row filter back as it was, and no other text", () => {
    const rowFilter = 'category:"dining table" shard:a/b.arrow area:0.01..0.2 "red cup" 50% & more';
    const hash = formatRoute(FALLBACK, { rowFilter }, "demo");
    const { config } = parseConfig(Object.fromEntries(new URLSearchParams(hash.slice(1))));
    expect(config.rowFilter).toBe(rowFilter);
    expect(["rowFilter", "userReward", "mixSources", "seed"].map(isUnlinked)).toEqual([false, true, true, false]);
  });

  it("leads from the screens of earlier addresses to the tabs that they became, without a complaint", () => {
    expect(parseRoute("#screen=rollouts&step=10&rollout=10-1-0-3&tab=raw")).toEqual({
      ...FALLBACK,
      screen: "train",
      tab: "rollouts",
      step: 10,
      rollout: "10-1-0-3",
    });
    expect(parseRoute("#screen=eval")).toEqual({ ...FALLBACK, screen: "train", tab: "held-out" });
    expect(routeProblems("#screen=rollouts&tab=raw", () => false)).toEqual([]);
    expect(routeProblems("#screen=train&tab=raw", () => false)).toHaveLength(1);
  });

  it("ignores unknown keys and falls back on bad values", () => {
    const route = parseRoute("#screen=nowhere&step=-3&smooth=1&x=moon&colour=red&rollout=");
    expect(route).toEqual(FALLBACK);
  });

  it("names what an address sets in vain", () => {
    const isOther = (name: string): boolean => name === "steps";
    const told = routeProblems("#screen=nowhere&step=-3&zoom=left&explain=0&run=&steps=7&stepz=7&toString=1", isOther);
    expect(told).toEqual([
      'screen cannot be "nowhere"; its default is used',
      'step cannot be "-3"; its default is used',
      'zoom cannot be "left"; its default is used',
      '"stepz" is neither a view nor a setting and is ignored',
      '"toString" is neither a view nor a setting and is ignored',
    ]);
    expect(
      routeProblems(formatRoute({ ...FALLBACK, zoom: "1.00-8.50@train", layers: [] }, {}, "demo"), isOther),
    ).toEqual([]);
  });

  it("names each run, metric and chart once, as edited addresses may not", () => {
    const route = parseRoute("#compare=b,a,b,&metrics=m,m&log=x,y,x");
    expect([route.compare, route.metrics, route.log]).toEqual([["b", "a"], ["m"], ["x", "y"]]);
  });

  it("shares no name with a setting", () => {
    const clashes = [...Object.keys(FALLBACK), "preset"].filter((name) => name in SETTINGS);
    expect(clashes).toEqual([]);
  });
});

describe("an address", () => {
  fakeAddress("#screen=judge&judge=questions");

  it("that switches a judge on is left without it until the user agrees, so that a reload does not switch it on", async () => {
    // Other files share the store.
    const following = vi.spyOn(useSession, "subscribe").mockReturnValue(() => undefined);
    const before = useSession.getState();
    changeConfig({ judgeUrl: "http://localhost:9/v1" });
    followAddress();
    following.mockRestore();
    const { questions } = useConsent.getState();
    expect(questions.map(({ reach }) => reach.judge)).toEqual(["http://localhost:9"]);
    expect(useSession.getState().config.judge).toBe("off");
    expect(location.hash).toBe("#screen=rewards&panel=judge");
    questions[0]?.answer("cancel");
    expect(useSession.getState().config.judge).toBe("off");
    useSession.setState(before, true);
  });

  it("keeps the texts of this page, whatever storage remembers: another tab has written there, or it is full", () => {
    const before = useSession.getState();
    changeConfig({ judgeUrl: "http://127.0.0.1:8000/v1" });
    vi.stubGlobal("localStorage", { getItem: () => '{"texts":{"judgeUrl":"https://judge.example"}}' });
    location.hash = "#screen=runs&steps=7";
    window.dispatchEvent(new Event("popstate"));
    expect(useSession.getState().config).toMatchObject({ steps: 7, judgeUrl: "http://127.0.0.1:8000/v1" });
    useSession.setState(before, true);
  });

  it("that sets something in vain is listed as a problem", () => {
    const before = useSession.getState();
    vi.stubGlobal("history", { state: null, replaceState: () => undefined });
    location.hash = "#screen=nowhere&preset=fast&steps=0";
    window.dispatchEvent(new Event("popstate"));
    expect(useSession.getState().problems.map(({ message }) => message)).toEqual([
      'In the address, screen cannot be "nowhere"; its default is used',
      'In the address, "fast" is not a preset; demo is used',
      expect.stringMatching(/^In the address, steps must be/),
    ]);
    useSession.setState(before, true);
  });
});
