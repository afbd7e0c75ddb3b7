// Bundles each entry of the pages into internal/web/assets, compressed, where
// the Go binary embeds it. What is committed there must be what this writes:
// .ci/run looks. A file is written only if what is inside it differs, since
// another zlib may pack the same bytes in another way.
import { build } from 'esbuild'
import { mkdirSync, readFileSync, writeFileSync, existsSync, readdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'

const here = dirname(fileURLToPath(import.meta.url))
const into = join(here, '..', 'internal', 'web', 'assets')

// Entries that are there: out name, source.
const entries = {
  'embed.js': 'map/index.ts',
  'page.js': 'page/main.ts',
  'page.css': 'page/page.css',
  'leave.js': 'leave/leave.ts',
  'organiser.js': 'organiser/main.ts',
  'organiser.css': 'organiser/organiser.css',
}

mkdirSync(into, { recursive: true })
const wanted = new Set()
for (const [name, source] of Object.entries(entries)) {
  if (!existsSync(join(here, source))) continue
  const { outputFiles } = await build({
    absWorkingDir: here,
    entryPoints: [source],
    outfile: join(into, name),
    bundle: true,
    write: false,
    minify: true,
    format: name.endsWith('.js') ? 'esm' : undefined,
    target: ['es2022', 'chrome111', 'firefox113', 'safari16.4'],
    charset: 'utf8',
    legalComments: 'eof',
    logLevel: 'warning',
  })
  const bytes = Buffer.from(outputFiles.find((f) => basename(f.path) === name).contents)
  const file = name + '.gz'
  wanted.add(file)
  const path = join(into, file)
  if (existsSync(path) && gunzipSync(readFileSync(path)).equals(bytes)) continue
  writeFileSync(path, gzipSync(bytes, { level: 9 }))
  console.log(`${file}: ${bytes.length} bytes, ${readFileSync(path).length} packed`)
}
for (const file of readdirSync(into)) {
  if (file.endsWith('.gz') && !wanted.has(file)) rmSync(join(into, file))
}
