import static incumbent.Async.*;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import incumbent.CampaignSettings;
import incumbent.Store;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TrialTest {
    @Test
    void theJarElectsALeader(@TempDir Path folder) {
        var store = connect("sqlite:" + folder.resolve("elections.db") + "?create=true").join();
        var candidate = campaign(store, "jobs", new CampaignSettings().name("trial").splay(Duration.ZERO)).join();
        try (var hold = nextTerm(candidate).join().orElseThrow()) {
            assertTrue(hold.getTerm().isCurrent());
            assertEquals("trial", leader(store, "jobs").join().orElseThrow().getName());
        }
        close(store).join();
    }

    @Test
    void theJarHasTheLicencesAndTheNoticesOfWhatIsCompiledIn() throws Exception {
        for (String name : new String[] {"LICENSE-APACHE", "LICENSE-MIT"}) {
            assertNotNull(Store.class.getResource("/META-INF/" + name), name);
        }
        try (var notices = Store.class.getResourceAsStream("/META-INF/THIRD-PARTY-NOTICES")) {
            var text = new String(notices.readAllBytes(), StandardCharsets.UTF_8);
            assertTrue(text.contains("\nuniffi 0.") && text.contains("MPL-2.0"), "uniffi");
        }
    }
}
