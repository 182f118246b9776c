/**
 * Scrapes a process's `/metrics` as Prometheus does.
 *
 * @returns each sample's value by its name and labels as they stand: `sume_deliveries_total{receipt="accepted"}`.
 */
export async function readMetrics(internalUrl: string): Promise<Map<string, number>> {
  const response = await fetch(`${internalUrl}/metrics`)
  if (!response.ok) throw new Error(`/metrics answered ${response.status}`)
  const samples = (await response.text())
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    samples.map((line) => {
      const space = line.lastIndexOf(' ')
      return [line.slice(0, space), Number(line.slice(space + 1))]
    }),
  )
}
