package io.jccl.planning;

/** Bytes of {@link SurveyCodec} for tests of other packages. */
public final class SurveySeeds {

    private SurveySeeds() {}

    /** Returns the bytes that the lowest rank of a host with ranks 3, 5 and 9 sends, with a survey of its GPUs. */
    public static byte[] one() {
        return SurveyCodecTest.bytesOfBoth();
    }
}
