package site

import (
	"strings"

	"vrametre/web/piece"
)

// embedTypesName is the declaration file of embed.js, beside it.
const embedTypesName = "embed.d.ts"

// elementTypes declares the element of embed.js; FIGURES stands for their names.
const elementTypes = `// Made by the site's build.

/** The parts of the site that stand alone. */
export type Figure = FIGURES;

/** What a figure shows: a state, as in the site's addresses, and what it comes to, in bytes. */
export interface FigureState {
  state: string;
  /** Absent where the host hides it. */
  result?: { live: number; allocated: number; reserved: number; device: number; fits?: boolean; maxBatch?: number };
}

/** What a reader has chosen. */
export interface FigureAnswer {
  question: string;
  choice: string | Record<string, string>;
  right: boolean;
}

export interface FigureEvents {
  ready: CustomEvent<FigureState & { figure: Figure }>;
  height: CustomEvent<{ figure: Figure; height: number }>;
  state: CustomEvent<FigureState & { figure: Figure }>;
  answer: CustomEvent<FigureAnswer & { figure: Figure }>;
}

/** <vrametre-figure figure="timeline">: a figure in a frame as high as it is. */
export interface VrametreFigure extends HTMLElement {
  get(): Promise<FigureState>;
  /** A fragment such as "batch=64", or its values by key. */
  set(state: string | Record<string, string | number>): Promise<void>;
  reset(): Promise<void>;
  addEventListener<K extends keyof FigureEvents>(type: K, listener: (event: FigureEvents[K]) => void, options?: boolean | AddEventListenerOptions): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | AddEventListenerOptions): void;
}

declare global {
  interface HTMLElementTagNameMap {
    "vrametre-figure": VrametreFigure;
  }
}
`

// embedTypes writes the declarations for TypeScript.
func embedTypes() string {
	names := make([]string, len(piece.All))
	for i, p := range piece.All {
		names[i] = `"` + p.Name + `"`
	}
	return strings.Replace(elementTypes, "FIGURES", strings.Join(names, " | "), 1)
}
