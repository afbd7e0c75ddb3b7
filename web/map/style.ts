import { css } from 'lit'

export const style = css`
  :host {
    --ground: #fff; --ink: #1c1b1a; --soft: #5f5b56; --line: #dcd7d0; --accent: #b3261e; --raised: #fffffff0;
    display: flex; flex-direction: column; min-height: 22rem; background: var(--ground); color: var(--ink);
    font: 15px/1.45 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; color-scheme: light dark;
    border: 1px solid var(--line); border-radius: 14px; overflow: hidden; position: relative; text-align: start;
  }
  @media (prefers-color-scheme: dark) {
    :host { --ground: #1f1d1c; --ink: #ece8e3; --soft: #b0aaa3; --line: #3a3734; --accent: #ff8a7a; --raised: #1f1d1cf0; }
  }
  :host([hidden]) { display: none; }
  * { box-sizing: border-box; }
  button, select { font: inherit; color: inherit; }
  button { cursor: pointer; background: none; border: 1px solid var(--line); border-radius: 9px; }
  button:disabled { cursor: default; opacity: .45; }
  :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
  .bar { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; padding: .6rem .75rem; border-block-end: 1px solid var(--line); }
  .bar label { display: flex; gap: .4rem; align-items: center; color: var(--soft); min-width: 0; }
  .bar select { background: var(--ground); border: 1px solid var(--line); border-radius: 9px; padding: .35rem .5rem; max-width: 14rem; min-height: 2.25rem; }
  .tabs { display: flex; margin-inline-start: auto; }
  .tabs button { padding: .35rem .8rem; min-height: 2.25rem; border-radius: 0; }
  .tabs button:first-child { border-start-start-radius: 9px; border-end-start-radius: 9px; }
  .tabs button:last-child { border-start-end-radius: 9px; border-end-end-radius: 9px; border-inline-start: 0; }
  .tabs [aria-pressed='true'] { background: var(--ink); color: var(--ground); }
  .stage { position: relative; flex: 1; min-height: 16rem; overflow: hidden; }
  .stage > canvas { position: absolute; inset: 0; width: 100%; height: 100%; touch-action: none; cursor: grab; display: block; }
  .stage > canvas.seat { cursor: pointer; }
  .stage.around { outline: 3px solid var(--accent); outline-offset: -3px; }
  .zoom { position: absolute; inset-block-end: .75rem; inset-inline-end: .75rem; display: flex; flex-direction: column; gap: .35rem; }
  .zoom button { width: 2.5rem; height: 2.5rem; background: var(--raised); font-size: 1.2rem; line-height: 1; }
  .tip {
    position: absolute; left: 0; top: 0; pointer-events: none; max-width: 16rem; padding: .35rem .6rem; border-radius: 8px; font-size: .85rem;
    background: var(--ink); color: var(--ground); z-index: 2; white-space: nowrap;
  }
  .tip[hidden] { display: none; }
  .note { position: absolute; inset-block-start: .75rem; inset-inline: .75rem; margin: 0 auto; width: fit-content; max-width: calc(100% - 1.5rem);
    background: var(--raised); border: 1px solid var(--line); border-radius: 9px; padding: .4rem .75rem; z-index: 1; }
  .note button { padding: .15rem .6rem; margin-inline-start: .5rem; }
  .list { overflow: auto; max-height: 30rem; padding: .75rem; }
  /* Beside the map the list is for the keyboard and screen readers; the map shows where it is. */
  .list.beside { position: absolute; width: 1px; height: 1px; padding: 0; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
  [role='row'] { display: flex; gap: 4px; align-items: center; margin-block-end: 4px; }
  [role='rowheader'] { flex: none; width: 3.5rem; color: var(--soft); font-size: .8rem; overflow: hidden; text-overflow: ellipsis; }
  [role='gridcell'] {
    flex: none; width: 2.6rem; height: 2.6rem; display: grid; place-items: center; grid-template-rows: 1.3rem .9rem; align-content: center;
    border: 1px solid var(--line); border-radius: 7px; font-size: .7rem; line-height: 1; cursor: pointer; color: var(--ink);
  }
  [role='gridcell'] svg { width: 1.2rem; height: 1.2rem; }
  [role='gridcell'][aria-selected='true'] { border-color: var(--ink); border-width: 2px; font-weight: 700; }
  [role='gridcell'][aria-disabled='true'] { color: var(--soft); cursor: default; border-style: dashed; }
  .pager { padding: .4rem .8rem; margin-block: .35rem; }
  .legend { border-block-start: 1px solid var(--line); padding: .6rem .75rem; }
  .legend ul { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: .25rem 1.1rem; font-size: .85rem; }
  .legend li { display: flex; gap: .35rem; align-items: center; }
  .legend svg { width: 1.1rem; height: 1.1rem; flex: none; }
  .legend ul + ul { margin-block-start: .35rem; color: var(--soft); }
  .legend b { font-weight: 600; }
  .number { font-variant-numeric: tabular-nums; color: var(--soft); }
  .areas { border-block-start: 1px solid var(--line); padding: .5rem .75rem .75rem; }
  h3 { font-size: .9rem; font-weight: 600; margin: .25rem 0 .4rem; }
  .area { display: grid; grid-template-columns: 1fr auto auto; gap: .3rem .9rem; align-items: center; padding-block: .35rem; }
  .area + .area { border-block-start: 1px solid var(--line); }
  .area .name { grid-column: 1 / -1; display: flex; justify-content: space-between; gap: 1rem; }
  .stepper { display: flex; align-items: center; }
  .stepper button { width: 2.4rem; height: 2.4rem; font-size: 1.1rem; line-height: 1; }
  .stepper output { min-width: 2.4rem; text-align: center; font-variant-numeric: tabular-nums; }
  .keys { color: var(--soft); font-size: .8rem; margin: 0; padding: 0 .75rem .6rem; }
  @media (hover: none) { .keys { display: none; } }
  .sr { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
`
