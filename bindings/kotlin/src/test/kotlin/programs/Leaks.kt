/** Opens and closes campaigns, and prints what is left after some and after all of them: programs.LeaksKt COUNT */
package programs

import incumbent.Preset
import incumbent.close
import incumbent.connect
import java.io.File
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.delay
import kotlinx.coroutines.runBlocking

fun main(args: Array<String>): Unit = runBlocking {
    val some = 1000
    connect("memory:").use { store ->
        suspend fun campaign(at: Int) {
            val candidate = store.campaign("jobs-${at % some}") {
                preset = Preset.FAST
                lease = 60.seconds
                splay = 0.seconds
            }
            candidate.nextTerm()!!.use { it.term.run { } }
            candidate.close()
            candidate.closed()
        }

        suspend fun measure(): String {
            repeat(10) {
                System.gc()
                delay(20)
            }
            val runtime = Runtime.getRuntime()
            val heap = runtime.totalMemory() - runtime.freeMemory()
            val rss = File("/proc/self/statm").readText().split(' ')[1].toLong() * 4096
            val files = File("/proc/self/fd").list()!!.size
            return "$heap $rss $files"
        }

        // The first campaigns warm up: they allocate the elections' own memory and bring the allocators to their peak.
        val warm = 2 * some
        for (at in 0 until warm) campaign(at)
        println("before ${measure()}")
        for (at in warm until args[0].toInt()) campaign(at)
        println("after ${measure()}")
    }
}
