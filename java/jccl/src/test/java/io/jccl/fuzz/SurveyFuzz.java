package io.jccl.fuzz;

import io.jccl.BootstrapException;
import io.jccl.planning.SurveyCodec;
import io.jccl.planning.SurveySeeds;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/** Fuzz target: the channels in another rank's survey. */
public final class SurveyFuzz {

    private static final List<Integer> RANKS = List.of(3, 5, 9);
    private static final int RANK = 3;
    private static final String HOST = "a";

    private SurveyFuzz() {}

    /** Reads the bytes; throws unless they are read or are refused with a reason. */
    public static void fuzzerTestOneInput(byte[] data) {
        try {
            SurveyCodec.Found found = SurveyCodec.decode(RANK, HOST, RANKS, data);
            byte[] again = SurveyCodec.encode(found, true);
            if (!SurveyCodec.decode(RANK, HOST, RANKS, again).equals(found)) {
                throw new IllegalStateException("changed by writing and reading: " + found);
            }
        } catch (BootstrapException e) {
            if (!e.getMessage().startsWith("rank=3 bytes=" + data.length)) {
                throw new IllegalStateException("does not name the rank that sent it", e);
            }
        }
    }

    /** Returns valid inputs, with which a fuzzer starts. */
    public static SortedMap<String, byte[]> seeds() {
        return new TreeMap<>(Map.of("survey", SurveySeeds.one()));
    }
}
