/** A worker that prints what happens to it: programs.WorkerKt URL NAME */
package programs

import incumbent.Preset
import incumbent.TermEndedException
import incumbent.connect
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.runBlocking

fun main(args: Array<String>): Unit = runBlocking {
    connect(args[0]).use { store ->
        val candidate = store.campaign("jobs") {
            name = args[1]
            preset = Preset.FAST
            splay = 0.seconds
        }
        println("ready")
        candidate.terms().collect { term ->
            println("won ${term.token}")
            try {
                term.run {
                    // On SIGTERM the work is finished at once.
                    term.draining()
                    if (term.isCurrent) println("drained") else awaitCancellation()
                }
            } catch (ended: TermEndedException) {
                println("lost ${ended.reason} ${candidate.isLeader}")
            }
        }
    }
}
