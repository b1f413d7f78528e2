package io.jccl.nativelib;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class NativeLoaderTest {

    @Test
    void loadsTheLibraryOfTheClassPathWithTheBuildIdOfTheClasses() throws IOException {
        NativeLoader.load();

        String buildId = NativeLibrary.buildId();
        try (InputStream in = getClass().getResourceAsStream("/META-INF/native/linux-x86_64/build-id")) {
            assertThat(buildId)
                    .matches("[0-9a-f]{32}")
                    .isEqualTo(new String(in.readAllBytes(), StandardCharsets.US_ASCII).strip());
        }
    }

    @Test
    void loadingAgainChangesNothing() {
        NativeLoader.load();
        assertThatCode(NativeLoader::load).doesNotThrowAnyException();
    }
}
