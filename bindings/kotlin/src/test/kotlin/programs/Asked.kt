/** A leader that answers each line of its input by whether it leads: programs.AskedKt URL */
package programs

import incumbent.Preset
import incumbent.close
import incumbent.connect
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.runBlocking

fun main(args: Array<String>): Unit = runBlocking {
    val store = connect(args[0])
    val candidate = store.campaign("jobs") {
        name = "asked"
        preset = Preset.FAST
        splay = 0.seconds
        watch = false
    }
    val term = candidate.nextTerm()!!.term
    println("won ${term.token}")
    while (readlnOrNull() != null) {
        println("leads ${candidate.isLeader} ${term.isCurrent} ${term.remaining.inWholeNanoseconds}")
    }
    store.close()
}
