package site

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vrametre/web/build"
)

// program uses every function of the module as a course page does. Lines that
// must be refused say so.
const program = `import { estimate, explain, presets, type EngineError, type ErrorCode, type EstimateError, type Explanation, type Preset, type Request, type Result } from "./vrametre.js";

const request: Request = {
  model: { layers: [{ type: "Conv2d", in_channels: 3, out_channels: 32, kernel_size: 3, padding: 1 }, { type: "Flatten", name: "flat" }] },
  input: { shape: [3, 32, 32] },
  batch: 8,
  optimizer: { name: "sgd", momentum: 0.9 },
  checkpointing: ["0", "1"],
  device: { gpu: "tesla-t4", desktop: false },
  want: ["layers", "max_batch"],
};
const whole: Request = { model: { preset: "resnet50", preset_args: { num_classes: 10 } }, input: [{ tokens: 12 }], checkpointing: "every-block" };

async function ask(): Promise<string[]> {
  const result: Result = await estimate(request);
  const [low, high]: [number, number] = result.rule_of_thumb?.total ?? [0, 0];
  const peak: number = result.peak.device + low + high;
  const most: number | undefined = result.max_batch;
  const paths: string[] | undefined = result.layers?.map((layer) => layer.path);
  const meaning: Explanation = await explain("CUDA out of memory.", { language: "en" });
  const asked: number | undefined = meaning.candidates?.[0]?.bytes;
  const known: Preset[] = await presets();
  const same: Result = await window.vrametre.estimate(whole);
  try {
    await estimate({});
  } catch (thrown) {
    const failure = thrown as EstimateError | EngineError;
    if (failure.code === "engine-unavailable") return [String(failure.cause)];
    const code: ErrorCode = failure.code;
    return [code, failure.message, failure.at ?? "", code === "field-unknown" ? "a slip" : ""];
  }
  return [String(peak), String(most), ...(paths ?? []), meaning.verdict, String(asked), ...known.map((preset) => preset.name), String(same.fits)];
}
void ask();

// @ts-expect-error
void estimate({ bacth: 3 });
// @ts-expect-error
void estimate({ batch: "many" });
// @ts-expect-error
void estimate({ precision: "fp31" });
// @ts-expect-error
void estimate({ input: { shape: "3x32x32" } });
// @ts-expect-error
const none: ErrorCode = "no-such-code";
void none;
// @ts-expect-error
void explain(12);
// @ts-expect-error
void estimate().then((result) => result.peak.nowhere);
`

// course is a page with a figure.
const course = `import type { Figure, FigureState } from "./embed.js";

const figure = document.createElement("vrametre-figure");
const name: Figure = "timeline";
figure.setAttribute("figure", name);
figure.addEventListener("answer", ({ detail }) => { const right: boolean = detail.right; void right; });
figure.addEventListener("state", (event) => { const live: number | undefined = event.detail.result?.live; void live; });
figure.addEventListener("click", () => {});
void figure.set({ batch: 64, gpu: "tesla-t4" }).then(() => figure.get()).then((told: FigureState) => told.state);
void figure.reset();

// @ts-expect-error
const none: Figure = "nothing";
// @ts-expect-error
void figure.set(64);
// @ts-expect-error
figure.addEventListener("height", ({ detail }) => detail.width);
void none;
`

// The types accept what the engine and the element take and refuse what they do not.
func TestTypesCompile(t *testing.T) {
	root, err := build.Root()
	if err != nil {
		t.Fatal(err)
	}
	if err := build.Packages(); err != nil {
		t.Fatal(err)
	}
	dir := written(t)
	if err := os.WriteFile(filepath.Join(dir, "program.ts"), []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "course.ts"), []byte(course), 0o644); err != nil {
		t.Fatal(err)
	}
	compiler := filepath.Join(root, "web", "build", "node_modules", "typescript", "bin", "tsc")
	cmd := exec.Command("node", compiler, "--strict", "--noEmit", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--target", "es2022", "--module", "nodenext", "program.ts", "course.ts")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Every field and type that has a sentence in Go has it in TypeScript.
func TestTypesAreDescribed(t *testing.T) {
	text := read(t, written(t), typesName)
	for _, want := range []string{"/** Batch is the number of samples per step", "/** Optimizer names an optimizer", "/** Candidate ", `precision?: "fp32" |`, "input?: ", "total: [number, number];"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
