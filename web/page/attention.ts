// Calls somebody who looks elsewhere.
let audio: AudioContext | undefined

/** To be called while a button is pressed: browsers let only pages make sounds that somebody has touched. */
export function allowSound() {
  audio ??= new AudioContext()
  audio.resume().catch(() => undefined)
}

/** Two notes, and a shake of the phone. */
export function ring() {
  navigator.vibrate?.([200, 100, 200])
  if (audio?.state !== 'running') return
  const { currentTime: now, destination } = audio
  const loud = audio.createGain()
  loud.connect(destination)
  loud.gain.setValueAtTime(0.2, now)
  loud.gain.exponentialRampToValueAtTime(0.001, now + 1.2)
  for (const [hertz, after] of [[659, 0], [880, 0.25]] as const) {
    const tone = audio.createOscillator()
    tone.frequency.value = hertz
    tone.connect(loud)
    tone.start(now + after)
    tone.stop(now + after + 0.9)
  }
}
