// Builds sdk/typescript/dist, which npm publishes: the client, and the map with
// everything in it.
import { build } from 'esbuild'
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const sdk = join(here, '..', 'sdk', 'typescript')
rmSync(join(sdk, 'dist'), { recursive: true, force: true })
const shared = { absWorkingDir: here, bundle: true, format: 'esm', target: 'es2022', charset: 'utf8', logLevel: 'warning', outdir: join(sdk, 'dist') }
await build({ ...shared, entryPoints: { index: join(sdk, 'src/index.ts'), client: join(sdk, 'src/client/index.ts') }, splitting: true })
await build({ ...shared, entryPoints: { map: 'map/index.ts' }, minify: true, legalComments: 'eof' })
execFileSync(
  process.execPath,
  [
    join(here, 'node_modules/typescript/bin/tsc'), '-p', here, '--noEmit', 'false', '--declaration', '--emitDeclarationOnly',
    '--rootDir', join(here, '..'), '--outDir', join(sdk, 'dist'),
  ],
  { stdio: 'inherit' },
)
