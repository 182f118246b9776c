/** What a private server is started with, on whichever lane. */

/** Options of `mysqld` and `mariadbd` alike. */
export const MYSQL_OPTIONS = [
  '--skip-name-resolve',
  '--max-connections=500',
  '--innodb-buffer-pool-size=128M',
  // A commit that was answered survives a crash of the machine.
  '--innodb-flush-log-at-trx-commit=1',
  // Nobody replicates from it, and a second flush for every commit would prove nothing more.
  '--skip-log-bin',
]

/** Lines of a `redis.conf`: the queue survives a restart but for the last second, and nothing is evicted to make room. */
export const REDIS_SETTINGS: readonly (readonly [string, string])[] = [
  ['appendonly', 'yes'],
  ['appendfsync', 'everysec'],
  ['save', ''],
  ['maxmemory-policy', 'noeviction'],
]

export const DATABASE = 'sume_inbox'
