package io.jccl.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class EnvironmentPageTest {

    private static final Path PAGE = Path.of("../../docs/environment.md");

    @Test
    void thePageEqualsTheRenderedRegistry() throws IOException {
        if (Boolean.getBoolean("jccl.update")) {
            Files.writeString(PAGE, EnvironmentPage.render());
        }
        assertThat(Files.readString(PAGE))
                .as("docs/environment.md; update it with -Djccl.update=true")
                .isEqualTo(EnvironmentPage.render());
    }

    @Test
    void everySettingHasARow() throws IOException {
        String page = Files.readString(PAGE);
        assertThat(Registry.all()).isNotEmpty().allSatisfy(setting -> assertThat(page)
                .contains("| `" + setting.name() + "` |"));
    }
}
