// SPDX-License-Identifier: BSD-3-Clause
import './app.css';
import { render } from 'preact';
import { decode } from './columns';

interface Facts {
  title: string;
  sentences: string[];
}

async function main(): Promise<void> {
  const answer = await fetch('data/facts');
  if (!answer.ok) throw new Error(await answer.text());
  const { meta } = decode<Facts>(await answer.arrayBuffer());
  document.title = meta.title;
  render(
    <main>
      <h1>{meta.title}</h1>
      {meta.sentences.map((s) => (
        <p>{s}</p>
      ))}
    </main>,
    document.body,
  );
}

main().catch((e: unknown) => render(<p role="alert">{String(e)}</p>, document.body));
