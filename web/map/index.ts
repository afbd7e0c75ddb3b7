// What /embed.js and the TypeScript package export: the element, and what its
// events carry.
export { RowlockMap, type ChosenArea, type ChosenSeat, type Hold, type Selection } from './rowlock-map.ts'
