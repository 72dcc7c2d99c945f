// Runs scheduled jobs in one of any number of processes, like a scheduler with annotations: each job is a function with
// an interval, and one guard around all of them decides whether they run.
//
//     java -cp … examples.ScheduledJobKt sqlite:elections.db
//
// Start it twice and stop the leader with SIGTERM or Ctrl-C: the other takes over at once. Kill the leader instead, and
// the other takes over when the lease is over.

package examples

import incumbent.Term
import incumbent.connect
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.isActive
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeoutOrNull

/** A job that runs at an interval. */
class Job(val name: String, val every: Duration, val run: suspend (Term) -> Unit)

val jobs = listOf(
    Job("invoices", 1.seconds) { term -> println("the invoices go out with token ${term.token}") },
    Job("reports", 5.seconds) { term -> println("the report is written with token ${term.token}") },
)

/** Runs a job at its interval until the term drains; the scope is cancelled if the term ends first. */
suspend fun CoroutineScope.schedule(job: Job, term: Term) {
    while (isActive && !term.isDraining) {
        job.run(term)
        withTimeoutOrNull(job.every) { term.draining() }
    }
}

fun main(args: Array<String>): Unit = runBlocking {
    connect(args.firstOrNull() ?: "memory:").use { store ->
        store.campaign("scheduled-jobs").lead { term ->
            println("leading with token ${term.token}")
            // All jobs are done when the block returns: a drain waits for them.
            for (job in jobs) {
                launch { schedule(job, term) }
            }
        }
    }
}
