/** Handles that a program drops without closing them. */
package incumbent

import java.io.File
import java.nio.file.Files
import java.nio.file.Path
import kotlinx.coroutines.yield
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.condition.EnabledOnOs
import org.junit.jupiter.api.condition.OS
import org.junit.jupiter.api.io.TempDir

class DroppedTest {
    private suspend fun lead(store: Store) = store.campaign("jobs", quick()).nextTerm()!!.close()

    @Test
    fun `a candidate that is dropped campaigns until it is closed`() = looping {
        connect("memory:").use { store ->
            lead(store)
            val before = store.leader("jobs")
            repeat(8) {
                System.gc()
                yield()
            }
            assertEquals(before, store.leader("jobs"))
        }
    }

    /** The number of times that this process has a file open. */
    private fun openings(file: Path) =
        File("/proc/self/fd").listFiles()!!.count { runCatching { Files.readSymbolicLink(it.toPath()) }.getOrNull() == file }

    private suspend fun open(file: Path) {
        connect("sqlite:$file")
        assertTrue(openings(file) > 0)
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    fun `a store that is dropped is closed once it is collected`(@TempDir folder: Path) = looping {
        val file = folder.toRealPath().resolve("elections.db")
        init("sqlite:$file")
        open(file)
        until("the file is closed") {
            System.gc()
            openings(file) == 0
        }
    }
}
