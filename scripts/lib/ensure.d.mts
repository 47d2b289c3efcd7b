export const root: string;
export function ensurePackages(folder?: string): void;
export function ensureChromium(): string | null;
export function ensureVulkan(): void;
export function offersMesa(policy: string): boolean;
export function buildIsStale(): boolean;
export function buildPage(): number;
