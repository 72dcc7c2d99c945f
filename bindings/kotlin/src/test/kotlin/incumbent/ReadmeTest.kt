/** The README's programs are the same as the tests'. */
package incumbent

import java.io.File
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Test

class ReadmeTest {
    @Test
    fun `every program of the README is compiled and run by a test`() {
        val files = listOf("kotlin/readme/Worker.kt", "java/readme/JavaWorker.java", "kotlin/readme/InTests.kt")
        // Without the package line.
        val programs = files.map { File("src/test/$it").readText().substringAfter("\n\n").trimEnd() }
        assertEquals(programs, programs("README.md"))
    }

    /** The programs in Kotlin and Java of a page. */
    private fun programs(page: String) = Regex("```(?:kotlin|java)\n(.*?)\n```", RegexOption.DOT_MATCHES_ALL)
        .findAll(File(page).readText()).map { it.groupValues[1] }.toList()

    @Test
    fun `the README's test passes`() {
        readme.inTests()
    }
}
