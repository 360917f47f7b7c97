// SPDX-License-Identifier: BSD-3-Clause
// A canvas in device pixels, drawn at most once per frame, with keyboard and screen reader support.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useSize, useStore } from "../state/hooks";

export interface Point {
  x: number;
  y: number;
  /** In the window, for tooltips. */
  clientX: number;
  clientY: number;
}

export interface CanvasProps {
  /** Description of the picture. */
  label: string;
  /** Description of the element with the keyboard focus; a screen reader reads it when it changes. */
  spoken: string;
  /** Draws the picture; width and height in CSS pixels. A different function object means that the picture has changed. */
  draw: (pen: CanvasRenderingContext2D, width: number, height: number) => void;
  cursor?: string | undefined;
  /** The tooltip at the pointer. */
  title?: string | undefined;
  onPoint?: (point: Point) => void;
  onLeave?: () => void;
  onClick?: (point: Point, event: MouseEvent) => void;
  onDouble?: (point: Point) => void;
  /** A drag from the point of pointerdown; done: pointerup. Less than CLICK pixels are a click. */
  onDrag?: (from: Point, to: Point, done: boolean, event: PointerEvent) => void;
  /** In pixels; zoom with Ctrl or a pinch gesture. Returns whether the event was used, so the page does not scroll. */
  onWheel?: (point: Point, dx: number, dy: number, event: WheelEvent) => boolean;
  /** Returns whether the key was used. */
  onKey?: (event: KeyboardEvent) => boolean;
  onSize?: (width: number, height: number) => void;
}

/** What draws the picture of each canvas. */
export const drawings = new WeakMap<Element, CanvasProps["draw"]>();

const CLICK = 4; // pixels; shorter drags are clicks

function pointOf(event: MouseEvent): Point {
  const box = (event.currentTarget as Element).getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top, clientX: event.clientX, clientY: event.clientY };
}

function paint(canvas: HTMLCanvasElement, width: number, height: number, draw: CanvasProps["draw"]): void {
  const ratio = window.devicePixelRatio || 1;
  const pen = canvas.getContext("2d", { alpha: false });
  if (!pen || !width || !height) return;
  const wide = Math.round(width * ratio);
  const high = Math.round(height * ratio);
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
  }
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  draw(pen, width, height);
}

/** Registers a wheel listener that is not passive, as only such a listener can prevent scrolling of the page. */
function useWheel(element: { current: HTMLElement | null }, latest: { current: CanvasProps }): void {
  const { embedded } = useStore();
  useEffect(() => {
    const canvas = element.current;
    const turn = (event: WheelEvent): void => {
      if (embedded && !event.ctrlKey && !event.metaKey) return; // the wheel over a frame scrolls the notebook
      const scale = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
      if (latest.current.onWheel?.(pointOf(event), event.deltaX * scale, event.deltaY * scale, event)) event.preventDefault();
    };
    canvas?.addEventListener("wheel", turn, { passive: false });
    return () => canvas?.removeEventListener("wheel", turn);
  }, []);
}

export function Canvas(props: CanvasProps) {
  const [box, { width, height }] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef(props);
  const frame = useRef(0);
  const down = useRef<{ from: Point; moved: boolean } | undefined>(undefined);
  latest.current = props;
  useLayoutEffect(() => {
    if (PAGE) drawings.set(canvas.current!, props.draw);
    if (!frame.current)
      frame.current = requestAnimationFrame(() => {
        frame.current = 0;
        const now = box.current;
        if (canvas.current && now) paint(canvas.current, now.clientWidth, now.clientHeight, latest.current.draw);
      });
  }, [props.draw, width, height]);
  useLayoutEffect(() => () => cancelAnimationFrame(frame.current), []);
  useLayoutEffect(() => {
    if (width && height) latest.current.onSize?.(width, height);
  }, [width, height]);
  useWheel(canvas, latest);

  const press = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    down.current = { from: pointOf(event), moved: false };
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent): void => {
    const at = pointOf(event);
    const start = down.current;
    if (start && !start.moved && Math.hypot(at.x - start.from.x, at.y - start.from.y) >= CLICK) start.moved = true;
    if (start?.moved) props.onDrag?.(start.from, at, false, event);
    else props.onPoint?.(at);
  };
  const release = (event: PointerEvent): void => {
    const start = down.current;
    down.current = undefined;
    if (!start || event.button !== 0) return;
    if (start.moved) props.onDrag?.(start.from, pointOf(event), true, event);
    else props.onClick?.(pointOf(event), event);
  };
  return (
    <div class="canvas" ref={box}>
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-label={props.label}
        aria-description={props.spoken}
        title={props.title}
        style={{ cursor: props.cursor }}
        onPointerDown={press}
        onPointerMove={move}
        onPointerUp={release}
        onPointerCancel={() => (down.current = undefined)}
        onPointerLeave={() => props.onLeave?.()}
        onDblClick={(event) => props.onDouble?.(pointOf(event))}
        onKeyDown={(event) => {
          if (props.onKey?.(event)) event.preventDefault();
        }}
      />
      <p class="unseen" aria-live="polite">
        {props.spoken}
      </p>
    </div>
  );
}
