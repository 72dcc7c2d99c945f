module.exports = { testMatch: ['**/*.jest.cjs'] };
