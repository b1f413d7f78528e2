package io.jccl.fuzz;

import io.jccl.tuning.HostCosts;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/** Fuzz target: tuning profiles. */
public final class TuningProfileFuzz {

    private TuningProfileFuzz() {}

    /** Reads the bytes; throws unless they are read or are refused with a reason. */
    public static void fuzzerTestOneInput(byte[] data) throws IOException {
        try (Reader in = new InputStreamReader(new ByteArrayInputStream(data), StandardCharsets.UTF_8)) {
            HostCosts.read(in, "fuzz").source();
        } catch (IllegalArgumentException e) {
            if (e.getMessage() == null || !e.getMessage().startsWith("fuzz")) {
                throw new IllegalStateException("refused without the name of the file and a reason", e);
            }
        }
    }

    /** Returns valid inputs, with which a fuzzer starts. */
    public static SortedMap<String, byte[]> seeds() throws IOException {
        try (InputStream in = HostCosts.class.getResourceAsStream("host-costs.properties")) {
            return new TreeMap<>(Map.of("built-in", in.readAllBytes()));
        }
    }
}
