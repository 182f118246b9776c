import { Command } from 'commander'
import { sweep } from './scenarios/sweep.ts'
import type { Scenario } from './scenario.ts'

const SCENARIOS: readonly Scenario[] = [sweep]

const list = SCENARIOS.map(({ name, summary }) => `  ${name.padEnd(10)} ${summary}`).join('\n')

const program = new Command('bench')
  .description(
    'Measures side by side with the bare driver, on the same servers in the same run. Only ratios say something.',
  )
  .argument('[scenarios...]', 'which ones (default: all)')
  .option('--smoke', 'a short form that only shows that it works')
  .addHelpText('after', `\nScenarios:\n${list}\n\nExit code 0 when every measure is reached.`)
  .action(async (names: string[], options: { smoke?: true }) => {
    const unknown = names.find((name) => !SCENARIOS.some((scenario) => scenario.name === name))
    if (unknown !== undefined) program.error(`there is no scenario ${unknown}; there are:\n${list}`)
    const chosen = SCENARIOS.filter(({ name }) => names.length === 0 || names.includes(name))
    const say = (line: string) => void process.stdout.write(`${line}\n`)
    let reached = true
    for (const scenario of chosen) {
      say(`${scenario.name}: ${scenario.summary}`)
      reached = (await scenario.run({ smoke: options.smoke === true, say })) && reached
    }
    process.exitCode = reached ? 0 : 1
  })

await program.parseAsync()
