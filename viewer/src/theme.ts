/** Colours of the page and the canvas, light and dark, in one place. */

export interface Theme {
  dark: boolean;
  page: string;
  surface: string;
  raised: string;
  text: string;
  muted: string;
  faint: string;
  border: string;
  edge: string;
  accent: string;
  accentSoft: string;
  decision: string;
  decisionSoft: string;
  bad: string;
  badSoft: string;
  warn: string;
  good: string;
  match: string;
  group: string;
  chip: string;
  /** Marks of categories: ops, modules, sides. */
  marks: string[];
  /** From little to much. */
  heat: string[];
  keyword: string;
  literal: string;
}

const LIGHT: Theme = {
  dark: false,
  page: "#f6f6f3",
  surface: "#ffffff",
  raised: "#fbfbf9",
  text: "#1c2330",
  muted: "#5f6877",
  faint: "#8d95a2",
  border: "#dbdee3",
  edge: "#a3abb8",
  accent: "#3b55c9",
  accentSoft: "#e8ecfb",
  decision: "#96610a",
  decisionSoft: "#fdf1d8",
  bad: "#c22f3d",
  badSoft: "#fdeaec",
  warn: "#d97a16",
  good: "#23824f",
  match: "#f2b90c",
  group: "#344262",
  chip: "#eef0f4",
  marks: [
    "#4269d0",
    "#8a5fc0",
    "#2f9e8f",
    "#c4527a",
    "#7a8494",
    "#c98a1b",
    "#3fa35a",
    "#b8573a",
    "#5b8ac9",
    "#9a7b4f",
    "#5f6bd8",
    "#4f8f7a",
  ],
  heat: ["#eef1f5", "#f7e3b5", "#f2bd6b", "#e58a45", "#cf5436", "#9c2a3c"],
  keyword: "#7a3fb0",
  literal: "#226f54",
};

const DARK: Theme = {
  dark: true,
  page: "#12151a",
  surface: "#1b1f26",
  raised: "#171a20",
  text: "#e4e8ee",
  muted: "#9aa4b2",
  faint: "#6d7786",
  border: "#313845",
  edge: "#566071",
  accent: "#92a5ff",
  accentSoft: "#252d4a",
  decision: "#ecb95a",
  decisionSoft: "#3a2f18",
  bad: "#ff7b84",
  badSoft: "#3d2025",
  warn: "#f2a14c",
  good: "#64c893",
  match: "#f5c83a",
  group: "#a0b4e1",
  chip: "#272d37",
  marks: [
    "#7d9bf2",
    "#b995ea",
    "#57c4b4",
    "#e88bac",
    "#929cab",
    "#e0b155",
    "#74c98a",
    "#e08a6c",
    "#8fb8ee",
    "#c4a678",
    "#9aa3ff",
    "#82c0aa",
  ],
  heat: ["#262c36", "#3f3a33", "#6b5431", "#99702f", "#c96f3a", "#e0605a"],
  keyword: "#c79bf0",
  literal: "#7fd1ac",
};

export type ThemeChoice = "system" | "light" | "dark";

const system = window.matchMedia("(prefers-color-scheme: dark)");

export class Themes {
  choice: ThemeChoice = "system";
  current: Theme = LIGHT;
  private readonly listeners = new Set<(theme: Theme) => void>();

  constructor() {
    try {
      const kept = localStorage.getItem("weft-theme");
      if (kept === "light" || kept === "dark") this.choice = kept;
    } catch {
      // A page from a file may have no storage; the system's choice stands.
    }
    system.addEventListener("change", () => this.apply());
    this.apply();
  }

  onChange(listener: (theme: Theme) => void, signal: AbortSignal): void {
    this.listeners.add(listener);
    signal.addEventListener("abort", () => this.listeners.delete(listener));
  }

  /** The other of light and dark; the system's own choice is not kept. */
  toggle(): void {
    this.choice = this.current.dark ? "light" : "dark";
    if ((this.choice === "dark") === system.matches) this.choice = "system";
    try {
      localStorage.setItem("weft-theme", this.choice);
    } catch {
      // As above.
    }
    this.apply();
  }

  private apply(): void {
    const dark = this.choice === "dark" || (this.choice === "system" && system.matches);
    this.current = dark ? DARK : LIGHT;
    const root = document.documentElement;
    root.dataset.theme = dark ? "dark" : "light";
    for (const [name, value] of Object.entries(this.current))
      if (typeof value === "string") root.style.setProperty(`--${name}`, value);
    for (const listener of this.listeners) listener(this.current);
  }
}
