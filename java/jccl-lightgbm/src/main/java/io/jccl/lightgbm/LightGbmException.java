package io.jccl.lightgbm;

/**
 * Thrown if a call of LightGBM's API failed for a reason other than communication. The message has LightGBM's error.
 */
public final class LightGbmException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    LightGbmException(String message) {
        super(message);
    }
}
