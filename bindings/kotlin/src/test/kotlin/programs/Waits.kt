/** Asks for no log, and waits for two stores: a new store, and a store that does not answer: programs.WaitsKt URL URL */
package programs

import incumbent.Preset
import incumbent.connect
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeoutOrNull

fun main(args: Array<String>): Unit = runBlocking {
    withTimeoutOrNull(60.seconds) {
        launch { connect(args[1]) }
        connect(args[0]).campaign("jobs") {
            preset = Preset.FAST
            lease = 3600.seconds
        }.nextTerm()
    }
}
