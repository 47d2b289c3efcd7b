export const root: string;
export function ensurePackages(): void;
export function ensureChromium(): string | null;
export function ensureVulkanLoader(): void;
export function buildIsStale(): boolean;
