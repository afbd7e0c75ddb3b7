// Writes sdk/typescript/src anew from openapi.yaml.
import { createClient } from '@hey-api/openapi-ts'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
await createClient({
  input: join(here, '..', 'openapi.yaml'),
  output: join(here, '..', 'sdk', 'typescript', 'src'),
  plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
  logs: { level: 'warn' },
})
