// True in the page that is one file: whatever needs a program to ask is left out of it.
declare const __OFFLINE__: boolean;
