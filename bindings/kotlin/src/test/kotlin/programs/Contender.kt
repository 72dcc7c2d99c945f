/** Programs that record when they lead by their own answers, a line of JSON each time. */
package programs

import incumbent.Preset
import incumbent.connect
import kotlin.time.Duration.Companion.milliseconds
import kotlinx.coroutines.delay
import kotlinx.coroutines.runBlocking

private fun record(token: String, before: Long) {
    println("""{"event":"leads","token":"$token","before":$before,"after":${System.nanoTime()}}""")
}

/** A candidate: programs.Contender URL KEY NAME */
object Contender {
    @JvmStatic
    fun main(args: Array<String>): Unit = runBlocking {
        connect(args[0]).use { store ->
            val candidate = store.campaign(args[1]) {
                name = args[2]
                preset = Preset.FAST
            }
            while (true) {
                val before = System.nanoTime()
                val term = candidate.term
                if (term != null && candidate.isLeader && term.isCurrent) record("${term.token}", before)
                delay(5.milliseconds)
            }
        }
    }
}

/** The command of `incumbent run`, which leads for as long as it lives. */
object Commanded {
    @JvmStatic
    fun main(args: Array<String>) {
        while (true) {
            record(System.getenv("INCUMBENT_TOKEN"), System.nanoTime())
            Thread.sleep(5)
        }
    }
}
