// Reads QR codes from the camera: by the browser's own reader, else by jsQR.
interface Detector {
  detect(source: CanvasImageSource): Promise<{ rawValue: string }[]>
}
type DetectorClass = { new (options: { formats: string[] }): Detector; getSupportedFormats(): Promise<string[]> }

const everyMillis = 150
const widest = 640 // pixels that are looked at: a code fills a good part of the picture

export const hasCamera = () => Boolean(navigator.mediaDevices?.getUserMedia)

/** Shows the camera in a video and tells what it reads, until signal says to stop. */
export async function scan(video: HTMLVideoElement, signal: AbortSignal, read: (code: string) => void): Promise<void> {
  const stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: 'environment' }, audio: false })
  try {
    if (signal.aborted) return
    video.srcObject = stream
    await video.play()
    const look = await reader()
    while (!signal.aborted) {
      if (video.videoWidth > 0) {
        const code = await look(video)
        if (code && !signal.aborted) read(code)
      }
      await new Promise((done) => setTimeout(done, everyMillis))
    }
  } finally {
    for (const track of stream.getTracks()) track.stop()
    video.srcObject = null
  }
}

async function reader(): Promise<(video: HTMLVideoElement) => Promise<string | undefined>> {
  const Own = (globalThis as { BarcodeDetector?: DetectorClass }).BarcodeDetector
  try {
    if (Own && (await Own.getSupportedFormats()).includes('qr_code')) {
      const own = new Own({ formats: ['qr_code'] })
      return async (video) => (await own.detect(video))[0]?.rawValue
    }
  } catch {
    // It is there and does not work, as on some desktops.
  }
  const { default: jsQR } = await import('jsqr')
  const canvas = document.createElement('canvas')
  const c = canvas.getContext('2d', { willReadFrequently: true })!
  return (video) => {
    const scale = Math.min(1, widest / video.videoWidth)
    canvas.width = Math.round(video.videoWidth * scale)
    canvas.height = Math.round(video.videoHeight * scale)
    c.drawImage(video, 0, 0, canvas.width, canvas.height)
    const { data, width, height } = c.getImageData(0, 0, canvas.width, canvas.height)
    return Promise.resolve(jsQR(data, width, height, { inversionAttempts: 'dontInvert' })?.data)
  }
}
