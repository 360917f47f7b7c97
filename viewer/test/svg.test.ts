// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { type Pixels, SvgPen } from "../src/draw/svg";

const WIDE = 6; // px; each letter

function drawn(draw: (pen: SvgPen) => void, pixels?: Pixels): string[] {
  const pen = new SvgPen((text) => text.length * WIDE, () => pixels!);
  draw(pen);
  const lines = pen.file(200, 100, "a <title> & more").trim().split("\n");
  expect(lines.slice(0, 3)).toEqual([
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<svg xmlns="http://www.w3.org/2000/svg" width="200" height="100" viewBox="0 0 200 100" role="img" aria-label="a &lt;title&gt; &amp; more">',
    "<title>a &lt;title&gt; &amp; more</title>",
  ]);
  expect(lines[lines.length - 1]).toBe("</svg>");
  return lines.slice(3, -1);
}

describe("a picture as SVG", () => {
  it("has boxes, outlines and their transparency", () => {
    const found = drawn((pen) => {
      pen.fillStyle = "rgb(1,2,3)";
      pen.fillRect(10, 20, 30.126, 40);
      pen.globalAlpha = 0.5;
      pen.fillRect(10, 20, -5, -6);
      pen.fillRect(10, 20, 0, 9);
      pen.globalAlpha = 1;
      pen.strokeStyle = "#123456";
      pen.setLineDash([2, 3]);
      pen.strokeRect(0.5, 0.5, 9, 9);
    });
    expect(found).toEqual([
      '<rect x="10" y="20" width="30.13" height="40" fill="rgb(1,2,3)"/>',
      '<rect x="5" y="14" width="5" height="6" fill="rgb(1,2,3)" opacity="0.5"/>',
      '<rect x="0.5" y="0.5" width="9" height="9" fill="none" stroke="#123456" stroke-width="1" stroke-dasharray="2 3"/>',
    ]);
  });

  it("has texts where a canvas draws them, in their width", () => {
    const found = drawn((pen) => {
      pen.font = '600 12px system-ui, "Segoe UI"';
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.fillText('a<b>"&\u0001', 5, 10);
    });
    expect(found).toEqual([
      '<text x="5" y="14.2" fill="#000000" font-family="system-ui, &quot;Segoe UI&quot;" font-size="12" font-weight="600" text-anchor="middle" textLength="42" lengthAdjust="spacingAndGlyphs">a&lt;b&gt;&quot;&amp;�</text>',
    ]);
    expect(drawn((pen) => pen.fillText("  ", 5, 10))).toEqual([]);
  });

  it("ends a clip, and what was changed since, at restore()", () => {
    const found = drawn((pen) => {
      pen.save();
      pen.translate(5, 6);
      pen.scale(2, 2);
      pen.beginPath();
      pen.rect(0, 0, 10, 10);
      pen.clip();
      pen.fillStyle = "red";
      pen.fillRect(0, 0, 20, 20);
      pen.restore();
      pen.fillRect(0, 0, 1, 1);
    });
    expect(found).toEqual([
      '<clipPath id="clip1">',
      '<path d="M0 0h10v10h-10Z" transform="matrix(2 0 0 2 5 6)"/>',
      "</clipPath>",
      '<g clip-path="url(#clip1)">',
      '<rect x="0" y="0" width="20" height="20" fill="red" transform="matrix(2 0 0 2 5 6)"/>',
      "</g>",
      '<rect x="0" y="0" width="1" height="1" fill="#000000"/>',
    ]);
  });

  it("draws arcs in parts of at most half a circle, in both directions", () => {
    const [ring] = drawn((pen) => {
      pen.beginPath();
      pen.arc(50, 50, 20, 0, 1.5 * Math.PI);
      pen.arc(50, 50, 10, 1.5 * Math.PI, 0, true);
      pen.closePath();
      pen.fill();
    });
    expect(ring).toBe('<path d="M70 50A20 20 0 0 1 35.86 64.14A20 20 0 0 1 50 30L50 40A10 10 0 0 0 42.93 57.07A10 10 0 0 0 60 50Z" fill="#000000"/>');
    const [circle] = drawn((pen) => {
      pen.beginPath();
      pen.arc(50, 50, 10, 0, 2 * Math.PI);
      pen.stroke();
    });
    expect(circle).toContain('d="M60 50A10 10 0 0 1 40 50A10 10 0 0 1 60 50"');
  });

  it("draws pixels as boxes, one for neighbours of one colour", () => {
    const [red, none, blue] = [[255, 0, 0, 255], [0, 0, 0, 0], [0, 0, 255, 255]];
    const data = Uint8ClampedArray.from([red, red, blue, none, red, none].flatMap((colour) => colour!));
    const found = drawn((pen) => pen.drawImage(undefined as never, 0, 0, 3, 2, 10, 20, 30, 8), { data, width: 3, height: 2 });
    expect(found).toEqual([
      '<path d="M10 20h20v4h-20zM20 24h10v4h-10z" fill="#ff0000" shape-rendering="crispEdges"/>',
      '<path d="M30 20h10v4h-10z" fill="#0000ff" shape-rendering="crispEdges"/>',
    ]);
  });
});
