package io.jccl.nativelib;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LinkFailuresTest {

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "/x/libjccl.so: failed to map segment from shared object | forbids executing (noexec)",
                "/lib64/libc.so.6: version `GLIBC_2.28' not found (by /x/libjccl.so) | needs a newer C library",
                "Error loading shared library ld-linux-x86-64.so.2: No such file or directory | C library is musl",
                "Error relocating /x/libjccl.so: __vsnprintf_chk: symbol not found | C library is musl",
                "libstdc++.so.6: cannot open shared object file: No such file | install what the message names"
            })
    void theLinkersMessageIsExplainedAndQuoted(String said, String explanation) {
        assertThat(LinkFailures.explain(Path.of("/x/libjccl.so"), said))
                .startsWith("library=/x/libjccl.so: ")
                .contains(explanation, said);
    }

    @ParameterizedTest
    @CsvSource({"something new", ","})
    void anUnknownMessageIsQuoted(String said) {
        assertThat(LinkFailures.explain(Path.of("/x/libjccl.so"), said)).endsWith(": " + said);
    }
}
